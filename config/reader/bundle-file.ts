// Reads the manifest of an MCP bundle (`.mcpb`, formerly `.dxt`), a ZIP archive with a server's files. Only
// the directory at its end and the manifest are read. The numbers in the code are offsets and lengths of the
// archive's records (APPNOTE.TXT 4.3.16, 4.3.12, 4.3.7).

import type { FileHandle } from 'node:fs/promises';
import { inflateRawSync } from 'node:zlib';

const MANIFEST = 'manifest.json';
/** The end record is followed by a comment of up to 65,535 bytes. */
const MAX_END_BYTES = 22 + 65_535;
const MAX_DIRECTORY_BYTES = 16 * 1024 * 1024;
const END_SIGNATURE = Buffer.from([0x50, 0x4b, 0x05, 0x06]);
const ENTRY_SIGNATURE = 0x02014b50;
const STORED = 0;
const DEFLATED = 8;

/** Returns the bytes of the manifest, or the reason why it cannot be read. */
export async function readManifest(
  handle: FileHandle,
  fileBytes: number,
  maxBytes: number,
): Promise<Buffer | { readonly reason: string }> {
  const tail = await readAt(handle, Math.max(0, fileBytes - MAX_END_BYTES), MAX_END_BYTES);
  const end = tail.lastIndexOf(END_SIGNATURE);
  if (end === -1 || tail.length < end + 22) return { reason: 'the file is not a ZIP archive' };
  const length = tail.readUInt32LE(end + 12);
  if (length > MAX_DIRECTORY_BYTES) return { reason: 'the archive has too many files' };
  const entry = findEntry(await readAt(handle, tail.readUInt32LE(end + 16), length));
  if (entry === undefined) return { reason: `the archive has no ${MANIFEST}` };
  if (entry.bytes > maxBytes || entry.size > maxBytes) return { reason: `${MANIFEST} is too large` };
  const head = await readAt(handle, entry.offset, 30);
  if (head.length < 30) return { reason: 'the archive is incomplete' };
  const start = entry.offset + 30 + head.readUInt16LE(26) + head.readUInt16LE(28);
  const data = await readAt(handle, start, entry.bytes);
  if (entry.method === STORED) return data;
  if (entry.method !== DEFLATED) return { reason: `${MANIFEST} has an unsupported compression` };
  try {
    return inflateRawSync(data, { maxOutputLength: maxBytes });
  } catch {
    return { reason: `${MANIFEST} cannot be decompressed` };
  }
}

interface ArchiveEntry {
  readonly method: number;
  /** Size in the archive. */
  readonly bytes: number;
  /** Size after decompression. */
  readonly size: number;
  /** Position of the entry in the archive. */
  readonly offset: number;
}

function findEntry(directory: Buffer): ArchiveEntry | undefined {
  for (
    let position = 0;
    position + 46 <= directory.length && directory.readUInt32LE(position) === ENTRY_SIGNATURE;
  ) {
    const nameEnd = position + 46 + directory.readUInt16LE(position + 28);
    if (directory.toString('utf8', position + 46, nameEnd) === MANIFEST)
      return {
        method: directory.readUInt16LE(position + 10),
        bytes: directory.readUInt32LE(position + 20),
        size: directory.readUInt32LE(position + 24),
        offset: directory.readUInt32LE(position + 42),
      };
    position = nameEnd + directory.readUInt16LE(position + 30) + directory.readUInt16LE(position + 32);
  }
  return undefined;
}

/** Returns `length` bytes at `position`; fewer at the end of the file. */
async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await handle.read(buffer, filled, length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}
