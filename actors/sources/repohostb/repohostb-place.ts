// Where things are in the host's API.

import { path } from '../../../rest/path.ts';
import type { RepoPlace } from '../repositories/repo-host.ts';

/** As people write it. */
export const nameOf = ({ repository, sign, number }: RepoPlace): string => `${repository}${sign}${number}`;

/** The groups before it are a part of its name: their slashes are encoded. */
export const projectOf = (repository: string): string => path`/projects/${repository}`;
