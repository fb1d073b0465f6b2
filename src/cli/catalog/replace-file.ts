// A file is replaced as a whole, or stays as it is: what is new is written beside it and takes its name. A link is followed, and
// mode and owner stay.

import { randomBytes } from 'node:crypto';
import { chmod, chown, type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { readSourceFile, SourceFile } from '../../../config/reader/source-file.ts';
import { ApiProblem } from '../api/api-client.ts';

const MARK = '\uFEFF';

/** The text of a file, without a byte order mark; '' for one that is not there. Throws ApiProblem. */
export async function readWhole(path: string): Promise<string> {
  const source = await readSourceFile(path);
  if (source instanceof SourceFile) return source.text;
  if ((await stat(path).catch(() => undefined)) === undefined && source.reason === 'the file does not exist')
    return '';
  throw new ApiProblem(`${path}: ${source.reason}`, false);
}

/** Replaces `before`, which the file had, by `after`. `mode` is that of the new file. Throws ApiProblem, and then it is as it was. */
export async function replaceFile(path: string, before: string, after: string, mode?: number): Promise<void> {
  const real = await realpath(path).catch(() => path);
  const draft = join(dirname(real), `.${basename(real)}.${randomBytes(6).toString('hex')}.tmp`);
  try {
    const known = await stat(real).catch(() => undefined);
    const hasMark = known !== undefined && (await beginsWithMark(real));
    // Until it has its mode nobody else may read it.
    const handle = await open(draft, 'wx', 0o600);
    try {
      await handle.writeFile((hasMark ? MARK : '') + after);
      await handle.sync();
    } finally {
      await handle.close();
    }
    const { uid } = process.getuid === undefined ? { uid: -1 } : { uid: process.getuid() };
    if (known !== undefined && known.uid !== uid) await chown(draft, known.uid, known.gid).catch(() => {});
    await chmod(draft, mode ?? (known === undefined ? 0o666 & ~process.umask() : known.mode & 0o7777));
    if ((await readWhole(path)) !== before)
      throw new ApiProblem(`${path} has been changed meanwhile; nothing was written, try again`, true);
    await rename(draft, real);
  } catch (error) {
    await rm(draft, { force: true }).catch(() => {});
    if (error instanceof ApiProblem) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw new ApiProblem(`${path} cannot be written (${code ?? message})`, false);
  }
}

async function beginsWithMark(path: string): Promise<boolean> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(path, 'r');
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(3), 0, 3, 0);
    return bytesRead === 3 && buffer.toString('utf8') === MARK;
  } finally {
    await handle?.close();
  }
}
