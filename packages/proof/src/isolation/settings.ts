import { fuzzSettings } from "../fuzz/settings.js";

/** @param receiverUrl of mails and webhooks */
export function isolationSettings(receiverUrl: string): NodeJS.ProcessEnv {
  return {
    ...fuzzSettings,
    RESEND_API_KEY: "re_isolation",
    RESEND_BASE_URL: receiverUrl,
    ALERT_FROM: "alerts@example.com",
    WEBHOOK_ALLOW_PRIVATE: "127.0.0.0/8,::1/128",
    OPERATORS: "owner-qqashzz@example.com",
  };
}
