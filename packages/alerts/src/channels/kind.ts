import type { Attempt } from "../attempt.js";
import type { Mailer } from "../mail/index.js";
import type { Message } from "../sending/compose-message.js";
import type { PostAnswer, PostRequest } from "../sending/post.js";
import type { OwedDelivery } from "./deliveries.query.js";

export interface Sending {
  /** The same for every attempt. */
  id: string;
  to: string;
  secret: string | null;
  owed: OwedDelivery;
  message: Message;
  /** The dashboard's URL, without a slash at the end. */
  dashboardUrl: string;
}

export interface Senders {
  mailer: Mailer;
  post(request: PostRequest): Promise<PostAnswer>;
}

/** A kind of channel. Its folder holds its message, its address rule and its test; the table `kinds` names it. */
export interface Kind {
  /** For people, as the hint and the placeholder of its address. */
  readonly label: string;
  readonly hint: string;
  readonly placeholder: string;
  /** The sentence for an address that `readAddress` does not take. */
  readonly addressRule: string;
  readAddress(text: string): string | undefined;
  /** Its addresses hold no secret and are shown whole; those of other kinds are masked. */
  readonly isPublic?: boolean;
  /** A stranger's address gets a link first, and messages once it is used. */
  readonly needsConsent?: boolean;
  /** Each channel gets a secret that signs its messages. */
  readonly isSigned?: boolean;
  /** It gets each failure: digests and the hourly limit are for people. */
  readonly getsEach?: boolean;
  send(sending: Sending, senders: Senders): Promise<Attempt>;
}
