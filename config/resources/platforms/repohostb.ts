// What a trigger of type RepoHostB may say in spec.config: webhooks of a host of repositories whose groups stand in groups, and
// which proves itself by a token or by a signature.

import { repoHostBEventNames } from '../repository-hosts/repohostb-events.ts';
import { repoType } from '../repository-hosts/type.ts';

/** As many groups as stand in one another at most, and the repository. */
const MAX_PARTS = 21;

export const repoHostBType = repoType({
  words: {
    description: 'Webhooks of the repository host whose groups stand in groups.',
    secret: 'Secret token of the webhook, or its signing token, which begins with whsec_',
    events: 'merge_request or merge_request.open',
    repository: 'group/project',
    path: '/webhook/repohostb',
    token:
      'Token of the API: to answer with notes, to ask who may write, and to ask for failed deliveries again.',
    apiUrl: 'https://gitlab.com/api/v4',
    replayWindow: 'no effect here, where ids are signed or nothing is.',
  },
  maturity: 'Experimental',
  events: repoHostBEventNames,
  eventsOfAnyBranch: [
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

/** Of Standard Webhooks: base64 behind whsec_. Any other secret is sent as it is. */
function signingTokenFault(secret: string): string | undefined {
  const key = /^whsec_(.*)$/s.exec(secret)?.[1];
  if (key === undefined || isBase64(key)) return undefined;
  return 'is a signing token by its whsec_, and behind that no base64; copy it whole';
}

/** As a whole, to the last bit: of what was cut a key could be made that nobody signs with. */
function isBase64(key: string): boolean {
  const unpadded = key.replace(/=+$/, '');
  return unpadded !== '' && Buffer.from(key, 'base64').toString('base64').replace(/=+$/, '') === unpadded;
}
