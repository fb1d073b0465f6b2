// A file is replaced as a whole, or stays as it is: what is new is written beside it and takes its name. A link is followed, and
// mode and owner stay. The draft has one name for each file, and who has made it changes the file: others wait until it is gone, so
// that of two changes at a time none is lost.

import {
  access,
  chmod,
  chown,
  constants,
  type FileHandle,
  lstat,
  open,
  realpath,
  rename,
  rm,
  stat,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { readSourceFile, SourceFile } from '../../../config/reader/source-file.ts';
import { ApiProblem } from '../api/api-client.ts';

const MARK = '\uFEFF';
const WAIT_MS = 5_000;
const PAUSE_MS = 20;
/** Whoever has left a draft so long ago does not come back. */
const LEFT_MS = 10_000;

/** The file is not what it was when the change was thought out. */
export class ChangedMeanwhile extends ApiProblem {
  constructor(path: string) {
    super(`${path} has been changed meanwhile; nothing was written, try again`, true);
    this.name = 'ChangedMeanwhile';
  }
}

/** The text of a file, without a byte order mark; '' for one that is not there. Throws ApiProblem. */
export async function readWhole(path: string): Promise<string> {
  const isThere = (await lstat(path).catch(() => undefined)) !== undefined;
  const source = await readSourceFile(path);
  if (source instanceof SourceFile) return source.text;
  // A link that leads nowhere is something that somebody has meant.
  if (!isThere && source.reason === 'the file does not exist') return '';
  throw new ApiProblem(`${path}: ${source.reason}`, false);
}

/**
 * Replaces `before`, which the file had, by `after`. `mode` is that of the new file. Throws ApiProblem, of which ChangedMeanwhile is one, and
 * then the file is as it was.
 */
export async function replaceFile(path: string, before: string, after: string, mode?: number): Promise<void> {
  const real = await realpath(path).catch(() => path);
  const draft = join(dirname(real), `.${basename(real)}.tmp`);
  let isOurs = false;
  try {
    const known = await stat(real).catch(() => undefined);
    // To take its name a right to its folder would be enough.
    if (known !== undefined) await access(real, constants.W_OK);
    const hasMark = known !== undefined && (await beginsWithMark(real));
    const handle = await openDraft(path, draft);
    isOurs = true;
    try {
      await handle.writeFile((hasMark ? MARK : '') + after);
      await handle.sync();
    } finally {
      await handle.close();
    }
    const { uid } = process.getuid === undefined ? { uid: -1 } : { uid: process.getuid() };
    if (known !== undefined && known.uid !== uid) await chown(draft, known.uid, known.gid).catch(() => {});
    await chmod(draft, mode ?? (known === undefined ? 0o666 & ~process.umask() : known.mode & 0o7777));
    if ((await readWhole(path)) !== before) throw new ChangedMeanwhile(path);
    await rename(draft, real);
  } catch (error) {
    if (isOurs) await rm(draft, { force: true }).catch(() => {});
    if (error instanceof ApiProblem) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw new ApiProblem(`${path} cannot be written (${code ?? message}); nothing was`, false);
  }
}

async function openDraft(path: string, draft: string): Promise<FileHandle> {
  const end = Date.now() + WAIT_MS;
  for (;;) {
    try {
      // Until it has its mode nobody else may read it.
      return await open(draft, 'wx', 0o600);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const found = await stat(draft).catch(() => undefined);
    if (found !== undefined && Date.now() - found.mtimeMs > LEFT_MS) await rm(draft, { force: true });
    else if (Date.now() > end)
      throw new ApiProblem(`${path} is being changed by another command (${draft} is there)`, true);
    else await pause(PAUSE_MS);
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
