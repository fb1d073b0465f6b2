// All limits of the filesystem server. Tool descriptions, checks and tests read the values here.
//
// Clients built with the public SDK accept messages up to 10 MiB. In JSON, each byte of text becomes at most
// six bytes, and three bytes of binary data become four.

const KIBIBYTE = 1_024;
const MEBIBYTE = 1_024 * KIBIBYTE;

/** PATH_MAX of Linux. */
export const MAX_PATH_CHARS = 4_096;
export const MAX_PATH_BYTES = 4_096;
/** Fits a path in which all bytes are percent-encoded. */
export const MAX_URI_CHARS = 16_384;
/** Maximum number of allowed folders in an error message. */
export const MAX_FOLDERS_NAMED = 10;
/** Maximum text per response, from one or several files. */
export const MAX_TEXT_BYTES = MEBIBYTE;
/** Maximum size of images, audio and other bytes per response. */
export const MAX_BLOB_BYTES = 6 * MEBIBYTE;
export const MAX_WRITE_BYTES = 8 * MEBIBYTE;
/** Maximum number of files per read_multiple_files call. */
export const MAX_FILES = 100;

export const MAX_EDIT_FILE_BYTES = 4 * MEBIBYTE;
export const MAX_EDITS = 100;
export const MAX_OLD_TEXT_CHARS = MEBIBYTE;
/** Maximum number of reported matches of an ambiguous text. */
export const MAX_COUNTED_MATCHES = 20;
export const MAX_DIFF_CHARS = 200_000;
export const DIFF_MS = 1_000;

/** Maximum number of entries read per folder, in the order of the system. */
export const MAX_FOLDER_ENTRIES = 200_000;
export const MAX_LISTED_ENTRIES = 2_000;
/** Lower than MAX_LISTED_ENTRIES, because each entry requires a disk access. */
export const MAX_SIZED_ENTRIES = 1_000;

export const MAX_PATTERN_CHARS = 256;
/** Maximum total length of the patterns in a list. */
export const MAX_PATTERNS_CHARS = 4_096;
export const MAX_EXCLUDE_PATTERNS = 50;

export const MAX_MATCHES = 1_000;
/** Maximum size of all matches as JSON. The response contains them twice, once double-escaped. */
export const MAX_MATCHES_BYTES = MEBIBYTE;
export const MAX_VISITED_ENTRIES = 200_000;
export const MAX_SEARCH_DEPTH = 64;
export const MAX_TREE_ENTRIES = 2_000;
export const MAX_TREE_DEPTH = 32;
export const WALK_SECONDS = 20;
/** Minimum interval between two progress reports of a search. */
export const PROGRESS_MS = 500;
/** Maximum duration of uninterrupted work in the event loop. */
export const SLICE_MS = 20;

export const MAX_RESOURCES_PER_FOLDER = 10_000;
export const RESOURCES_PER_PAGE = 200;
export const MAX_SUBSCRIPTIONS = 200;
/** Changes to a file within this time are reported once. */
export const COALESCE_MS = 100;
/** Interval of checks without system events, for example on network file systems. */
export const SWEEP_MS = 5_000;
/** Minimum pause after a check, as a multiple of its duration. */
export const REST_FACTOR = 10;

/** Shorter than the usual client timeout of 60 seconds, so clients receive the error message. */
export const CALL_SECONDS = 50;
/** Concurrent reads, including resource requests. Writes run one at a time. */
export const CONCURRENT_READS = 8;
/**
 * Concurrent tool calls, including calls that wait for a disk slot. Exceeds CONCURRENT_READS, because queued
 * writes must not block reads.
 */
export const OPEN_CALLS = 32;

/** Formats a whole number of mebibytes, for example `1 MiB`. */
export function inMebibytes(bytes: number): string {
  return `${bytes / MEBIBYTE} MiB`;
}
