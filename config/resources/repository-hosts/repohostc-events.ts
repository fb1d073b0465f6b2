// Known events of Bitbucket (type RepoHostC, the third repository host), with the actions of each event. In
// the host's notation a colon separates event and action: `repo:push`.

import { EventNames } from './event-names.ts';

export const repoHostCEventNames = new EventNames(
  {
    pullrequest: [
      'created',
      'updated',
      'approved',
      'unapproved',
      'changes_request_created',
      'changes_request_removed',
      'fulfilled',
      'rejected',
      'comment_created',
      'comment_updated',
      'comment_deleted',
      'comment_resolved',
      'comment_reopened',
    ],
    repo: [
      'push',
      'fork',
      'updated',
      'transfer',
      'imported',
      'deleted',
      'commit_comment_created',
      'commit_status_created',
      'commit_status_updated',
    ],
    issue: ['created', 'updated', 'comment_created'],
  },
  ':',
);
