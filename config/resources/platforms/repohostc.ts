// What a trigger of type RepoHostC may say in spec.config: webhooks of a third host of repositories.

import { repoHostCEventNames } from '../repository-hosts/repohostc-events.ts';
import { repoType } from '../repository-hosts/type.ts';

export const repoHostCType = repoType({
  words: {
    description: 'Webhooks of a third repository host.',
    secret: 'Secret of the signature (HMAC-SHA256)',
    events: 'pullrequest or pullrequest:created',
    repository: 'workspace/repo',
    path: '/webhook/repohostc',
    token:
      'Token of the API, to answer with comments: an access token, or email:token of a user. To know who may command it must be one that may administrate.',
    apiUrl: 'https://api.bitbucket.org/2.0',
    replayWindow: 'without it, or with 0, it is another event.',
  },
  maturity: 'Experimental',
  events: repoHostCEventNames,
  // Issues and repositories have no branch, and a push may have several.
  eventsOfAnyBranch: ['issue', 'repo'],
});
