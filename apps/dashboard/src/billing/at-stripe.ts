import { AppError } from "@waymark/errors";

/** @throws AppError 502 for an error of Stripe's library */
export async function atStripe<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isStripes = error instanceof Error && "rawType" in error;
    if (!isStripes) throw error;
    throw new AppError("payments_away", { cause: error });
  }
}
