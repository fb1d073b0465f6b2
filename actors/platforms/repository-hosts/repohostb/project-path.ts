// API path for repositories.

import { path } from '../../../../libs/rest/path.ts';

/** Encodes the name as one path segment, because it contains the groups. */
export const projectOf = (repository: string): string => path`/projects/${repository}`;
