// Describes where imported servers were found, in comments of the catalog and in the output.

import type { MergedServer, Origin } from './merge-servers.ts';

/** Shortens a path for output. */
export type FormatPath = (path: string) => string;

/** Comment at the top of the catalog. */
export const catalogHead: readonly string[] = [
  'Servers of clients on this machine, written by "actor-gateway servers import".',
  `Values of \${NAME} come from the environment, or from .env next to this file.`,
];

/** Returns a text such as `Cursor (~/.cursor/mcp.json:3)`. */
export function originText({ client, file, line, project }: Origin, formatPath: FormatPath): string {
  const place = `${formatPath(file)}:${line}`;
  const location = project === undefined ? place : `${place}, project ${formatPath(project)}`;
  return client === undefined ? location : `${client} (${location})`;
}

/** Returns the comment lines above a server. */
export function commentsOf({ origins, entry, renamedFrom }: MergedServer, formatPath: FormatPath): string[] {
  return [
    `from ${origins.map((origin) => originText(origin, formatPath)).join(', and ')}`,
    ...(renamedFrom === undefined ? [] : [`renamed from ${renamedFrom}, which another server uses`]),
    ...(entry.enabled === false ? ['disabled there'] : []),
  ];
}
