import type { Buffer } from "node:buffer";
import { crc32 } from "node:zlib";
import { type Entry, openPromise } from "yauzl";
import { CommandError } from "../context/command-error.js";

/** The export of a tool has a dozen files; a list of millions is no export. */
const maxDirectoryBytes = 4 * 1_024 * 1_024;
const entryHeaderBytes = 46;

/** Names are UTF-8, whatever their flags say. */
const openArchive = (file: string) => openPromise(file, { autoClose: false, decodeStrings: false });

/**
 * Reads the list of a zip archive's files by its central directory. The content of each comes a part at a time; its end throws
 * where it is not what the archive says.
 * @throws CommandError for a file that is no whole archive
 */
export async function readZip(file: string) {
  const damaged = () => new CommandError(`'${file}' is no whole zip archive.`);
  const zip = await openArchive(file).catch(throwAs(damaged));
  try {
    const entries: { name: string; open(): AsyncIterable<Buffer> }[] = [];
    let directoryBytes = 0;
    for await (const entry of zip.eachEntry()) {
      directoryBytes += entryHeaderBytes + entry.fileNameLength + entry.extraFieldLength + entry.fileCommentLength;
      if (directoryBytes > maxDirectoryBytes) throw damaged();
      const name = entry.fileName.toString();
      if (!name.endsWith("/")) entries.push({ name, open: () => readEntry(file, name, entry) });
    }
    return entries;
  } catch (error) {
    return throwAs(damaged)(error);
  } finally {
    zip.close();
  }
}

/** Throws errors of the system as they are, and those of the archive as another one. */
const throwAs =
  (other: () => CommandError) =>
  (error: unknown): never => {
    throw (error as NodeJS.ErrnoException).syscall ? error : other();
  };

async function* readEntry(file: string, name: string, entry: Entry): AsyncGenerator<Buffer> {
  const wrong = (what: string) => new CommandError(`'${name}' in '${file}' ${what}. What was imported stays.`);
  if (entry.isEncrypted()) throw wrong("is encrypted");
  if (![0, 8].includes(entry.compressionMethod)) throw wrong("has a compression other than deflate");
  const damaged = () => wrong("is damaged");
  const zip = await openArchive(file).catch(throwAs(damaged));
  try {
    let sum = 0;
    // Ends with an error where the content is longer or shorter than the archive says.
    for await (const chunk of (await zip.openReadStreamPromise(entry)) as AsyncIterable<Buffer>) {
      sum = crc32(chunk, sum);
      yield chunk;
    }
    if (sum !== entry.crc32) throw damaged();
  } catch (error) {
    throwAs(damaged)(error);
  } finally {
    zip.close();
  }
}
