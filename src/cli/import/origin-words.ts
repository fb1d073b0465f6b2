// Where imported servers came from, in words: for the comments of the catalog and for what is printed.

import type { MergedServer, Origin } from './merged-servers.ts';

/** Gives a path as people write it. */
export type ShownPath = (path: string) => string;

/** The lines above all servers of the catalog. */
export const catalogHead: readonly string[] = [
  'The servers of clients on this machine, written by "actor-gateway servers import".',
  `Whatever is written \${NAME} comes from the environment, or from .env beside this file.`,
];

/** `Cursor (~/.cursor/mcp.json:3)`. */
export function originText({ client, file, line, project }: Origin, shown: ShownPath): string {
  const place = `${shown(file)}:${line}`;
  const where = project === undefined ? place : `${place}, project ${shown(project)}`;
  return client === undefined ? where : `${client} (${where})`;
}

/** The lines above one server of the catalog. */
export function commentsOf({ origins, entry, renamedFrom }: MergedServer, shown: ShownPath): string[] {
  return [
    `from ${origins.map((origin) => originText(origin, shown)).join(', and ')}`,
    ...(renamedFrom === undefined ? [] : [`there called ${renamedFrom}, as another server is here`]),
    ...(entry.enabled === false ? ['switched off there'] : []),
  ];
}
