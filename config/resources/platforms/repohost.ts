// Schema and checks of triggers for RepoHost (GitHub): webhooks from the first repository host.

import { repoHostEventNames } from '../repository-hosts/repohost-events.ts';
import { repoType } from '../repository-hosts/type.ts';

export const repoHostType = repoType({
  texts: {
    description: 'Webhooks of a repository host.',
    secret: 'Secret for the signature (HMAC-SHA256)',
    events: 'pull_request or pull_request.opened',
    repository: 'owner/repo',
    path: '/webhook/repohost',
    token: 'API token, for answers as comments and for redelivery of failed events.',
    apiUrl: 'https://api.github.com',
    replayWindow: 'Default: one hour; 0 = never.',
  },
  maturity: 'Stable',
  events: repoHostEventNames,
  // The first three events have no branch; the commit of a `status` event may be on several branches.
  eventsWithoutOneBranch: ['issues', 'issue_comment', 'release', 'status'],
});
