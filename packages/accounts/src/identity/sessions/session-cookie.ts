const daySeconds = 24 * 3_600;

export interface Cookie {
  read(header: string | undefined): string | undefined;
  /** Makes the `Set-Cookie` header of a new token. Lax, since links in mails must arrive signed in. */
  write(token: string): string;
  remove(): string;
}

/** @param url of the dashboard; decides about the cookie's name and `Secure` */
export function createSessionCookie(url: URL): Cookie {
  return createCookie(url, "waymark", 90 * daySeconds);
}

/** Keeps the proof of a sign-up as long as its link lives. */
export function createSignUpCookie(url: URL): Cookie {
  return createCookie(url, "waymark-sign-up", daySeconds);
}

/** Browsers accept the prefix `__Host-` only over https, without `Domain` and with `Path=/`. */
function createCookie(url: URL, plainName: string, maxAgeSeconds: number): Cookie {
  const name = url.protocol === "https:" ? `__Host-${plainName}` : plainName;
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
