// The events of the third repository host that are known, and their actions: as its header names them, with a colon between the two.

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
