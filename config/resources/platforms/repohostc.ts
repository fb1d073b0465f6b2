// Schema and checks of triggers for RepoHostC (Bitbucket): webhooks from the third repository host.

import { repoHostCEventNames } from '../repository-hosts/repohostc-events.ts';
import { repoType } from '../repository-hosts/type.ts';

export const repoHostCType = repoType({
  texts: {
    description: 'Webhooks of a third repository host.',
    secret: 'Secret for the signature (HMAC-SHA256)',
    events: 'pullrequest or pullrequest:created',
    repository: 'workspace/repo',
    path: '/webhook/repohostc',
    token:
      'API token for answers as comments: an access token, or email:token of a user. Permission checks for commands require administrator access.',
    apiUrl: 'https://api.bitbucket.org/2.0',
    replayWindow: 'Default: 0 = never.',
  },
  maturity: 'Experimental',
  events: repoHostCEventNames,
  // Issues and repositories have no branch; a push may have several.
  eventsWithoutOneBranch: ['issue', 'repo'],
});
