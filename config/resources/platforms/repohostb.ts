// Schema and checks of triggers for RepoHostB (GitLab): webhooks from the second repository host. It has
// nested groups of repositories, and verifies requests by a token or a signature.

import { repoHostBEventNames } from '../repository-hosts/repohostb-events.ts';
import { repoType } from '../repository-hosts/type.ts';

/** Maximum number of parts in a repository's path: 20 nested groups, and the repository. */
const MAX_PARTS = 21;

export const repoHostBType = repoType({
  texts: {
    description: 'Webhooks of the repository host with nested groups.',
    secret: 'Secret token of the webhook, or its signing token (whsec_…)',
    events: 'merge_request or merge_request.open',
    repository: 'group/project',
    path: '/webhook/repohostb',
    token: 'API token, for answers as notes, permission checks and redelivery of failed events.',
    apiUrl: 'https://gitlab.com/api/v4',
    replayWindow:
      'No effect for this host: a signing token also signs the event id, so a replay keeps it; with a secret token, nothing is signed.',
  },
  maturity: 'Experimental',
  events: repoHostBEventNames,
  // These events may have no branch: two triggers with different branch filters may both accept them.
  eventsWithoutOneBranch: [
    'issue',
    'work_item',
    'note',
    'release',
    'deployment',
    'wiki_page',
    'milestone',
    'emoji',
    'feature_flag',
  ],
  maxParts: MAX_PARTS,
  secretFault: signingTokenFault,
});

/** Checks signing tokens, which are base64 after `whsec_`. Other secrets may be any text. */
function signingTokenFault(secret: string): string | undefined {
  const key = /^whsec_(.*)$/s.exec(secret)?.[1];
  if (key === undefined || isBase64(key)) return undefined;
  return 'begins with whsec_ like a signing token, but the rest is not valid base64; copy it completely';
}

/** Returns true for complete base64, up to the last bit: the key of a truncated token would never match. */
function isBase64(key: string): boolean {
  const unpadded = key.replace(/=+$/, '');
  return unpadded !== '' && Buffer.from(key, 'base64').toString('base64').replace(/=+$/, '') === unpadded;
}
