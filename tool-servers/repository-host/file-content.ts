// What stands at a path, read the way its kind needs: the contents endpoint gives files up to 1 MB, larger ones come as
// blobs. Text is text when all of it is UTF-8 and holds no NUL; anything else is binary.

import type { ContentBlock } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import type { ToolAnswer } from '../tool.ts';
import { ToolError } from '../tool-error.ts';
import type { Asking } from './asking.ts';
import { HostRefusal } from './host-fault.ts';
import { type contentShape, type Entry, listed, readContent } from './shapes/content.ts';
import { textPage } from './text-page.ts';

/** What fits into the largest answer that is read, base64 and its line breaks counted. */
const MAX_FILE_BYTES = 16 * 1024 * 1024;
const MAX_BINARY_BYTES = 1024 * 1024;
/** The host lists no more of a folder. */
const MAX_LISTED_ENTRIES = 1000;

interface ContentPlace {
  readonly owner: string;
  readonly repo: string;
  /** Empty for the top. */
  readonly path: string;
  readonly ref: string | undefined;
}

type Content = z.input<typeof contentShape>;

/** What the host says of a path. */
export async function readContentAt(asking: Asking, place: ContentPlace): Promise<Entry | Entry[]> {
  try {
    const { data } = await asking.ask('GET /repos/{owner}/{repo}/contents/{path}', { ...place }, readContent);
    return data;
  } catch (error) {
    if (!(error instanceof HostRefusal)) throw error;
    if (error.status === 403 && /too.large/i.test(error.reason))
      throw new ToolError(
        `${place.path} is larger than the host gives this way (${error.reason}). Clone the repository to read it.`,
      );
    if (error.status !== 404) throw error;
    if (/is empty/i.test(error.reason))
      throw new ToolError(`${place.owner}/${place.repo} is empty: it has no files yet.`);
    const at = place.ref === undefined ? 'the default branch' : place.ref;
    throw new ToolError(
      `${error.message} There may be no "${place.path}" on ${at}; list the folder above it to see what is there.`,
    );
  }
}

/** `found` as a tool answers it, a text from `offset` on. */
export async function contentAnswer(
  asking: Asking,
  place: ContentPlace,
  found: Entry | Entry[],
  offset: number,
): Promise<ToolAnswer<Content>> {
  if (Array.isArray(found)) return told(folderOf(found, place.path));
  const { type, path, sha, size, html_url: url, target, submodule_git_url: repository } = found;
  if (type === 'symlink')
    return told({ type, path, sha, target, url, notice: 'A link; read the path it leads to.' });
  if (type === 'submodule')
    return told({
      type,
      path,
      sha,
      repository,
      url,
      notice: 'A commit of another repository; read it there.',
    });
  if (type !== 'file') return told({ type, path, sha, url });
  const bytes = await bytesOf(asking, place, found);
  const base = { type, path, sha, size: size ?? bytes.byteLength, url };
  const text = textOf(bytes);
  if (text === undefined) return binaryAnswer(base, bytes);
  const part = textPage(asking.clean(text), offset);
  const notice =
    offset > part.totalChars
      ? `The text has ${part.totalChars} characters only; nothing is left.`
      : lfsNotice(text);
  return told({ ...base, content: part.text, next_offset: part.nextOffset, notice });
}

function lfsNotice(text: string): string | undefined {
  return text.startsWith('version https://git-lfs.github.com/spec/v1\n')
    ? 'A pointer of Git LFS: the file itself is stored elsewhere, and this server cannot read it.'
    : undefined;
}

function told(structured: Content, content: readonly ContentBlock[] = []): ToolAnswer<Content> {
  return { text: JSON.stringify(structured), structured, content };
}

function folderOf(entries: readonly Entry[], path: string): Content {
  const notice =
    entries.length >= MAX_LISTED_ENTRIES
      ? `The host lists ${MAX_LISTED_ENTRIES} entries of a folder at most; there may be more.`
      : undefined;
  return { type: 'dir', path, entries: entries.map(listed), notice };
}

async function bytesOf(asking: Asking, { owner, repo }: ContentPlace, file: Entry): Promise<Buffer> {
  if (file.encoding === 'base64' && typeof file.content === 'string')
    return Buffer.from(file.content, 'base64');
  if ((file.size ?? 0) > MAX_FILE_BYTES)
    throw new ToolError(
      `${file.path} has ${file.size} bytes; this server reads files up to ${MAX_FILE_BYTES / 1024 / 1024} MiB.`,
    );
  const { data } = await asking.ask(
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

function binaryAnswer(base: Content, bytes: Buffer): ToolAnswer<Content> {
  if (bytes.byteLength > MAX_BINARY_BYTES)
    return told({
      ...base,
      notice: `A binary file, larger than the ${MAX_BINARY_BYTES / 1024 / 1024} MiB that are given; its content was left out.`,
    });
  const data = bytes.toString('base64');
  const image = imageTypeOf(bytes);
  if (image !== undefined)
    return told({ ...base, notice: `An image (${image}), beside this text.` }, [
      { type: 'image', data, mimeType: image },
    ]);
  const uri = base.url ?? `file:///${base.path}`;
  return told({ ...base, notice: 'A binary file, as a blob beside this text.' }, [
    { type: 'resource', resource: { uri, mimeType: 'application/octet-stream', blob: data } },
  ]);
}

/** By its first bytes; a name can say anything. */
function imageTypeOf(bytes: Buffer): string | undefined {
  const start = bytes.toString('latin1', 0, 12);
  if (start.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (start.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (/^GIF8[79]a/.test(start)) return 'image/gif';
  if (/^RIFF.{4}WEBP/s.test(start)) return 'image/webp';
  return undefined;
}
