import { AppError } from "@waymark/errors";
import { z } from "zod";

/** An id of a path. @throws AppError 404 for text that is none */
export function idOf(text: string | undefined): string {
  const { data } = z.uuid().safeParse(text);
  if (data === undefined) throw new AppError("not_found");
  return data;
}
