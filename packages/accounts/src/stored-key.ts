/** The API that a stored key opens: a shared key opens the analytics API. */
export const keyServiceSql = "CASE service WHEN 'share' THEN 'analytics' ELSE service END";

/** Keys that work: neither revoked nor past their end. */
export const isLiveKeySql = "revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())";
