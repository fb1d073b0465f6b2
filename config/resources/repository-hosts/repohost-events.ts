// Known events of GitHub (type RepoHost, the first repository host), with the actions of each event.

import { EventNames } from './event-names.ts';

export const repoHostEventNames = new EventNames({
  pull_request: [
    'opened',
    'synchronize',
    'closed',
    'reopened',
    'edited',
    'assigned',
    'labeled',
    'ready_for_review',
  ],
  pull_request_review: ['submitted', 'edited', 'dismissed'],
  pull_request_review_comment: ['created', 'edited', 'deleted'],
  push: [],
  issues: ['opened', 'edited', 'closed', 'reopened', 'assigned', 'labeled', 'transferred'],
  issue_comment: ['created', 'edited', 'deleted'],
  workflow_run: ['requested', 'in_progress', 'completed'],
  workflow_job: ['queued', 'in_progress', 'completed'],
  check_run: ['created', 'completed', 'rerequested'],
  check_suite: ['completed', 'requested', 'rerequested'],
  release: ['published', 'created', 'edited', 'deleted', 'released'],
  deployment: ['created'],
  deployment_status: ['created'],
  status: [],
  create: [],
  delete: [],
});
