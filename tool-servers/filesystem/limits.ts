// Every bound of the filesystem server, in one place: the descriptions of the tools, their checks and their tests say the
// same numbers because they read them here.
//
// An answer must fit into the 10 MiB that a client of the public SDK takes as one message. In JSON a byte of text grows to
// six at most, and three bytes of a blob become four.

const KIBIBYTE = 1_024;
const MEBIBYTE = 1_024 * KIBIBYTE;

/** As in Linux, PATH_MAX; what a caller says is measured in characters and in bytes. */
export const MAX_PATH_CHARS = 4_096;
export const MAX_PATH_BYTES = 4_096;
/** Room for a path with each byte percent-encoded. */
export const MAX_URI_CHARS = 16_384;
/** Allowed folders that an error names. */
export const MAX_FOLDERS_TOLD = 10;
/** Text in one answer, of one file or of several together. */
export const MAX_TEXT_BYTES = MEBIBYTE;
/** Images, sound and other bytes in one answer. */
export const MAX_BLOB_BYTES = 6 * MEBIBYTE;
export const MAX_WRITE_BYTES = 8 * MEBIBYTE;
export const MAX_FILES = 100;

export const MAX_EDIT_FILE_BYTES = 4 * MEBIBYTE;
export const MAX_EDITS = 100;
export const MAX_OLD_TEXT_CHARS = MEBIBYTE;
/** Places of an ambiguous text that are told. */
export const MAX_COUNTED_MATCHES = 20;
export const MAX_DIFF_CHARS = 200_000;
export const DIFF_MS = 1_000;

/** Entries of one folder that a listing looks at; of a larger folder, those that the system names first. */
export const MAX_ENTRIES_READ = 200_000;
export const MAX_LISTED_ENTRIES = 2_000;
/** Fewer than names alone: each costs a look at the disk. */
export const MAX_SIZED_ENTRIES = 1_000;

export const MAX_PATTERN_CHARS = 256;
/** All patterns of one list together. */
export const MAX_PATTERNS_CHARS = 4_096;
export const MAX_EXCLUDE_PATTERNS = 50;

export const MAX_MATCHES = 1_000;
/** Of all matches as JSON; an answer has them twice, once escaped twice. */
export const MAX_MATCHES_BYTES = MEBIBYTE;
export const MAX_VISITED_ENTRIES = 200_000;
export const MAX_SEARCH_DEPTH = 64;
export const MAX_TREE_ENTRIES = 2_000;
export const MAX_TREE_DEPTH = 32;
export const WALK_SECONDS = 20;
export const REPORT_MS = 500;
/** Work in the program's one thread between two turns of the others. */
export const SLICE_MS = 20;

export const MAX_RESOURCES_PER_FOLDER = 10_000;
export const RESOURCES_PER_PAGE = 200;
export const MAX_SUBSCRIPTIONS = 200;
/** Changes of a file within this time are told once. */
export const COALESCE_MS = 100;
/** How often what is watched is looked at even when the system tells of nothing, as on network file systems. */
export const SWEEP_MS = 5_000;
/** A look that took long is not repeated before so many times that time has passed. */
export const REST_FACTOR = 10;

/** Below the 60 seconds after which clients give up: they shall read why. */
export const CALL_SECONDS = 50;
/** Calls that read at a time, those for resources included; of those that write there is one at a time. */
export const CONCURRENT_CALLS = 8;
/** Calls of tools inside the server at a time: more than work, so that writes in line do not keep reads out. */
export const OPEN_CALLS = 32;

/** Such as `1 MiB`; for bounds that are whole numbers of them. */
export function inMebibytes(bytes: number): string {
  return `${bytes / MEBIBYTE} MiB`;
}
