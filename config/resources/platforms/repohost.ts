// What a trigger of type RepoHost may say in spec.config: webhooks of a host of repositories.

import { repoHostEventNames } from '../repository-hosts/repohost-events.ts';
import { repoType } from '../repository-hosts/type.ts';

export const repoHostType = repoType({
  words: {
    description: 'Webhooks of a repository host.',
    secret: 'Secret of the signature (HMAC-SHA256)',
    events: 'pull_request or pull_request.opened',
    repository: 'owner/repo',
    path: '/webhook/repohost',
    token: 'Token of the API: to answer with comments, and to ask for failed deliveries again.',
    apiUrl: 'https://api.github.com',
    replayWindow: 'without it an hour. 0: it is another event.',
  },
  maturity: 'Stable',
  events: repoHostEventNames,
  // The first three have no branch, and the commit of a `status` may be on several.
  eventsOfAnyBranch: ['issues', 'issue_comment', 'release', 'status'],
});
