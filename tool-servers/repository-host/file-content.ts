// Reads the content at a path. The contents endpoint returns files up to 1 MB; larger files are read as
// blobs. Valid UTF-8 without NUL is text; other content is binary.

import type { ContentBlock } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import type { ServerToolOutput } from '../tool.ts';
import { ToolError } from '../tool-error.ts';
import type { CallRequests } from './call-requests.ts';
import { HostRefusal } from './host-error.ts';
import { contentResponse, type contentShape, type RepositoryEntry, toListedEntry } from './shapes/content.ts';
import { textPage } from './text-page.ts';

/** As base64 with line breaks, this size fits into the largest accepted response. */
const MAX_FILE_BYTES = 16 * 1024 * 1024;
const MAX_BINARY_BYTES = 1024 * 1024;
/** Maximum number of entries that the host lists per folder. */
const MAX_LISTED_ENTRIES = 1000;

interface ContentLocation {
  readonly owner: string;
  readonly repo: string;
  /** Empty for the root. */
  readonly path: string;
  readonly ref: string | undefined;
}

type Content = z.input<typeof contentShape>;

/** Returns the entry at the path; for a folder, its entries. */
export async function readContentAt(
  requests: CallRequests,
  location: ContentLocation,
): Promise<RepositoryEntry | RepositoryEntry[]> {
  try {
    const { data } = await requests.request(
      'GET /repos/{owner}/{repo}/contents/{path}',
      { ...location },
      contentResponse,
    );
    return data;
  } catch (error) {
    if (!(error instanceof HostRefusal)) throw error;
    if (error.status === 403 && /too.large/i.test(error.reason))
      throw new ToolError(
        `${location.path} is too large for this API (${error.reason}). Clone the repository to read it.`,
      );
    if (error.status !== 404) throw error;
    if (/is empty/i.test(error.reason))
      throw new ToolError(`${location.owner}/${location.repo} is empty: it has no files yet.`);
    const branch = location.ref === undefined ? 'the default branch' : location.ref;
    throw new ToolError(
      `${error.message} "${location.path}" may not exist on ${branch}; list its parent folder to check.`,
    );
  }
}

/** Converts the entry to tool output. Text starts at `offset`. */
export async function toContentOutput(
  requests: CallRequests,
  location: ContentLocation,
  content: RepositoryEntry | RepositoryEntry[],
  offset: number,
): Promise<ServerToolOutput<Content>> {
  if (Array.isArray(content)) return contentOutput(folderOf(content, location.path));
  const { type, path, sha, size, html_url: url, target, submodule_git_url: repository } = content;
  if (type === 'symlink')
    return contentOutput({ type, path, sha, target, url, notice: 'Symbolic link; read its target path.' });
  if (type === 'submodule')
    return contentOutput({
      type,
      path,
      sha,
      repository,
      url,
      notice: 'Commit of another repository; read it there.',
    });
  if (type !== 'file') return contentOutput({ type, path, sha, url });
  const bytes = await readBlob(requests, location, content);
  const base = { type, path, sha, size: size ?? bytes.byteLength, url };
  const text = textOf(bytes);
  if (text === undefined) return binaryOutput(base, bytes);
  const part = textPage(requests.clean(text), offset);
  const notice =
    offset > part.totalChars
      ? `The offset is after the end; the text has ${part.totalChars} characters.`
      : lfsNotice(text);
  return contentOutput({ ...base, content: part.text, next_offset: part.nextOffset, notice });
}

function lfsNotice(text: string): string | undefined {
  return text.startsWith('version https://git-lfs.github.com/spec/v1\n')
    ? 'Git LFS pointer: the file is stored separately, and this server cannot read it.'
    : undefined;
}

function contentOutput(
  structured: Content,
  content: readonly ContentBlock[] = [],
): ServerToolOutput<Content> {
  return { text: JSON.stringify(structured), structured, content };
}

function folderOf(entries: readonly RepositoryEntry[], path: string): Content {
  const notice =
    entries.length >= MAX_LISTED_ENTRIES
      ? `The host lists up to ${MAX_LISTED_ENTRIES} entries of a folder; there may be more.`
      : undefined;
  return { type: 'dir', path, entries: entries.map(toListedEntry), notice };
}

async function readBlob(
  requests: CallRequests,
  { owner, repo }: ContentLocation,
  file: RepositoryEntry,
): Promise<Buffer> {
  if (file.encoding === 'base64' && typeof file.content === 'string')
    return Buffer.from(file.content, 'base64');
  if ((file.size ?? 0) > MAX_FILE_BYTES)
    throw new ToolError(
      `${file.path} has ${file.size} bytes; the limit of this server is ${MAX_FILE_BYTES / 1024 / 1024} MiB.`,
    );
  const { data } = await requests.request(
    'GET /repos/{owner}/{repo}/git/blobs/{file_sha}',
    { owner, repo, file_sha: file.sha },
    z.object({ content: z.string(), encoding: z.string() }),
  );
  return Buffer.from(data.content, data.encoding === 'base64' ? 'base64' : 'utf8');
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function textOf(bytes: Buffer): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

function binaryOutput(base: Content, bytes: Buffer): ServerToolOutput<Content> {
  if (bytes.byteLength > MAX_BINARY_BYTES)
    return contentOutput({
      ...base,
      notice: `Binary file above the limit of ${MAX_BINARY_BYTES / 1024 / 1024} MiB; its content is omitted.`,
    });
  const data = bytes.toString('base64');
  const image = imageTypeOf(bytes);
  if (image !== undefined)
    return contentOutput({ ...base, notice: `Image (${image}), returned as image content.` }, [
      { type: 'image', data, mimeType: image },
    ]);
  const uri = base.url ?? `file:///${base.path}`;
  return contentOutput({ ...base, notice: 'Binary file, returned as a blob.' }, [
    { type: 'resource', resource: { uri, mimeType: 'application/octet-stream', blob: data } },
  ]);
}

/** Detects images by the first bytes, because names are unreliable. */
function imageTypeOf(bytes: Buffer): string | undefined {
  const start = bytes.toString('latin1', 0, 12);
  if (start.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (start.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (/^GIF8[79]a/.test(start)) return 'image/gif';
  if (/^RIFF.{4}WEBP/s.test(start)) return 'image/webp';
  return undefined;
}
