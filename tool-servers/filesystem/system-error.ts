// What the system says when it refuses, in words for the caller. Every code gets a sentence; none of Node's own texts
// goes out, since they hold paths as this server says them to the system.

import { ToolError } from '../tool-error.ts';
import { quoted } from './paths/path-text.ts';

export interface SystemError extends Error {
  readonly code: string;
}

/** Whether `error` is an answer of the system, and no mistake in this program. */
export function isSystemError(error: unknown): error is SystemError {
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    /^E[A-Z0-9]+$/.test(error.code)
  );
}

const tellings: Record<string, (path: string) => string> = {
  ENOENT: (path) => `There is no ${path}. list_directory shows what is there.`,
  ENOTDIR: (path) => `${path} is not a folder, or one of the names on the way is not.`,
  EISDIR: (path) => `${path} is a folder. Say the path of a file.`,
  EEXIST: (path) => `There is already something at ${path}. Nothing was changed; choose another name.`,
  ENOTEMPTY: (path) => `There is already something at ${path}. Nothing was changed; choose another name.`,
  EACCES: (path) => `The system does not let this server do that with ${path} (no permission).`,
  EPERM: (path) => `The system does not let this server do that with ${path} (not permitted).`,
  EROFS: (path) => `${path} is on a file system that can only be read. Choose another folder.`,
  ENOSPC: (path) => `There is no space left on the file system of ${path}. Nothing was changed.`,
  EDQUOT: (path) => `The disk quota for ${path} is used up. Nothing was changed.`,
  EFBIG: (path) => `${path} would be larger than the system allows. Nothing was changed.`,
  ENAMETOOLONG: (path) =>
    `${path} is too long, or one of its names is (255 bytes at most). Say a shorter one.`,
  ELOOP: (path) => `${path} leads through links in a circle, or through too many.`,
  EXDEV: (path) =>
    `${path} is on another file system, and nothing moves across in one step. Write the file anew there instead.`,
  EBUSY: (path) => `${path} is in use by the system. Try again later.`,
  ETXTBSY: (path) => `${path} is a program that runs. Try again when it has ended.`,
  EAGAIN: (path) => `${path} is held by another program. Try again later.`,
  ESTALE: (path) => `${path} was moved or replaced during the call. Nothing was changed; try again.`,
  EMFILE: () => 'This server has too many files open. Try again with fewer calls at once.',
  ENFILE: () => 'The system has too many files open. Try again later.',
  EINVAL: (path) =>
    `The system cannot do that with ${path}. A name may have characters that its file system lacks.`,
  EILSEQ: (path) => `${path} has characters that its file system does not take. Choose another name.`,
};

/** The sentence for what the system answered about `path`, with that as its cause; any other error as it is. */
export function told(error: unknown, path: string): unknown {
  if (!isSystemError(error)) return error;
  const telling = tellings[error.code];
  return new ToolError(
    telling ? telling(quoted(path)) : `The system failed to do that with ${quoted(path)} (${error.code}).`,
    { cause: error },
  );
}
