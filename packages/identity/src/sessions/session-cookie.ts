/** Browsers accept the prefix `__Host-` only over https, without `Domain` and with `Path=/`. */
function nameOf(url: URL): string {
  return url.protocol === "https:" ? "__Host-waymark" : "waymark";
}

const maxAgeSeconds = 90 * 24 * 3_600;

/** The session's cookie of a dashboard. */
export interface SessionCookie {
  /** Finds the token in a `Cookie` header. */
  read(header: string | undefined): string | undefined;
  /** Makes the `Set-Cookie` header of a new session. Lax, since links in mails must arrive signed in. */
  write(token: string): string;
  /** Makes the `Set-Cookie` header that removes it. */
  remove(): string;
}

/** @param url of the dashboard; decides about the cookie's name and `Secure` */
export function createSessionCookie(url: URL): SessionCookie {
  const name = nameOf(url);
  const attributes = `Path=/; HttpOnly; SameSite=Lax${url.protocol === "https:" ? "; Secure" : ""}`;
  return {
    read(header = "") {
      const parts = header.split(";").map((part) => part.trim());
      return parts.find((part) => part.startsWith(`${name}=`))?.slice(name.length + 1);
    },
    write: (token) => `${name}=${token}; Max-Age=${maxAgeSeconds}; ${attributes}`,
    remove: () => `${name}=; Max-Age=0; ${attributes}`,
  };
}
