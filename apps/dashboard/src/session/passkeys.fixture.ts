import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";

const sha256 = (data: string | Buffer) => createHash("sha256").update(data).digest();
const encoded = (data: Buffer | string) => Buffer.from(data).toString("base64url");

/** The head of a text, byte string or map of CBOR (RFC 8949). @param length below 65,536 */
function cbor(major: number, length: number): Buffer {
  if (length < 24) return Buffer.from([(major << 5) | length]);
  if (length < 256) return Buffer.from([(major << 5) | 24, length]);
  return Buffer.from([(major << 5) | 25, length >> 8, length & 255]);
}
const cborText = (text: string) => Buffer.concat([cbor(3, text.length), Buffer.from(text)]);
const cborBytes = (bytes: Buffer) => Buffer.concat([cbor(2, bytes.length), bytes]);

interface Ceremony {
  challenge: string;
  origin?: string;
  rpId?: string;
  isVerified?: boolean;
}

/** An authenticator in software, made apart from the library that checks it: one key pair of ES256, and a counter. */
export function createAuthenticator(counter = 0) {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { x = "", y = "" } = publicKey.export({ format: "jwk" });
  const id = randomBytes(16);
  let count = counter;

  const dataOf = ({ rpId = "localhost", isVerified = true }: Ceremony, flags: number) => {
    const counted = Buffer.alloc(4);
    counted.writeUInt32BE(count);
    return Buffer.concat([sha256(rpId), Buffer.from([flags | 1 | (isVerified ? 4 : 0)]), counted]);
  };
  const clientOf = (type: string, { challenge, origin = "http://localhost:4000" }: Ceremony) =>
    Buffer.from(JSON.stringify({ type: `webauthn.${type}`, challenge, origin, crossOrigin: false }));
  const answer = (response: Record<string, string>) => {
    return { id: encoded(id), rawId: encoded(id), type: "public-key", response, clientExtensionResults: {} };
  };
  return {
    id: encoded(id),
    count: (next: number) => {
      count = next;
    },
    create(ceremony: Ceremony) {
      const key = [
        Buffer.from([0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21]),
        ...[cborBytes(Buffer.from(x, "base64url")), Buffer.from([0x22]), cborBytes(Buffer.from(y, "base64url"))],
      ];
      const length = Buffer.from([0, id.length]);
      const data = Buffer.concat([dataOf(ceremony, 64), Buffer.alloc(16), length, id, ...key]);
      const parts = [cbor(5, 3), cborText("fmt"), cborText("none"), cborText("attStmt"), cbor(5, 0)];
      const attestation = Buffer.concat([...parts, cborText("authData"), cborBytes(data)]);
      const clientDataJSON = encoded(clientOf("create", ceremony));
      return answer({ clientDataJSON, attestationObject: encoded(attestation) });
    },
    get(ceremony: Ceremony) {
      const [data, client] = [dataOf(ceremony, 0), clientOf("get", ceremony)];
      const signature = sign("sha256", Buffer.concat([data, sha256(client)]), privateKey);
      return answer({
        clientDataJSON: encoded(client),
        authenticatorData: encoded(data),
        signature: encoded(signature),
      });
    },
  };
}
