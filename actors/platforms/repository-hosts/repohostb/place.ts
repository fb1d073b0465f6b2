// Where things are in the host's API.

import { path } from '../../../../libs/rest/path.ts';

/** The groups before it are a part of its name: their slashes are encoded. */
export const projectOf = (repository: string): string => path`/projects/${repository}`;
