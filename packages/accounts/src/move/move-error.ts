/** A refused or failed step of a move. The message is a sentence for the operator. */
export class MoveError extends Error {
  override name = "MoveError";
}
