// Messages for system errors. Node's own texts are never sent, because they contain internal paths.

import { ToolError } from '../tool-error.ts';
import { quote } from './paths/path-text.ts';

export interface SystemError extends Error {
  readonly code: string;
}

/** Returns true for errors of the operating system, false for errors of this program. */
export function isSystemError(error: unknown): error is SystemError {
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    /^E[A-Z0-9]+$/.test(error.code)
  );
}

const messages: Record<string, (path: string) => string> = {
  ENOENT: (path) => `${path} does not exist. Use list_directory to see the existing names.`,
  ENOTDIR: (path) => `${path} or one of its parents is not a folder.`,
  EISDIR: (path) => `${path} is a folder. Pass the path of a file.`,
  EEXIST: (path) => `${path} already exists. Nothing was changed; choose another name.`,
  ENOTEMPTY: (path) => `${path} already exists. Nothing was changed; choose another name.`,
  EACCES: (path) => `No permission for this operation on ${path}.`,
  EPERM: (path) => `The system does not permit this operation on ${path}.`,
  EROFS: (path) => `${path} is on a read-only file system. Choose another folder.`,
  ENOSPC: (path) => `There is no space left on the file system of ${path}. Nothing was changed.`,
  EDQUOT: (path) => `The disk quota for ${path} is exceeded. Nothing was changed.`,
  EFBIG: (path) => `${path} would be larger than the system allows. Nothing was changed.`,
  ENAMETOOLONG: (path) =>
    `${path} is too long, or one of its names is longer than 255 bytes. Pass a shorter path.`,
  ELOOP: (path) => `${path} contains a cycle of symbolic links, or too many of them.`,
  EXDEV: (path) =>
    `${path} is on another file system; moves between file systems are not supported. Write a new file there instead.`,
  EBUSY: (path) => `${path} is in use by the system. Retry later.`,
  ETXTBSY: (path) => `${path} is a running program. Retry when it has exited.`,
  EAGAIN: (path) => `${path} is locked by another program. Retry later.`,
  ESTALE: (path) => `${path} was moved or replaced during the call. Nothing was changed; retry.`,
  EMFILE: () => 'This server has too many open files. Retry with fewer concurrent calls.',
  ENFILE: () => 'The system has too many open files. Retry later.',
  EINVAL: (path) =>
    `The system rejects this operation on ${path}. A name may contain characters that its file system does not support.`,
  EILSEQ: (path) => `${path} contains characters that its file system does not support. Choose another name.`,
};

/** Returns a ToolError for a system error, with the original as its cause; other errors unchanged. */
export function toToolError(error: unknown, path: string): unknown {
  if (!isSystemError(error)) return error;
  const message = messages[error.code];
  return new ToolError(
    message ? message(quote(path)) : `The operation on ${quote(path)} failed (${error.code}).`,
    { cause: error },
  );
}
