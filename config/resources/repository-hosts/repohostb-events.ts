// Known events of GitLab (type RepoHostB, the second repository host), by the `object_kind` of the payload,
// with their actions. For pipelines, jobs and deployments the action is the status.
//
// Excludes events not related to a repository (members, groups, vulnerabilities), and `access_token`, which
// the gateway itself triggers to test a hook (`repohostb/hooks.ts`).

import { EventNames } from './event-names.ts';

/** Actions that issues and merge requests share. */
const changes = ['open', 'update', 'close', 'reopen'] as const;

/** Statuses of pipelines and jobs. */
const statuses = [
  'created',
  'waiting_for_resource',
  'preparing',
  'waiting_for_callback',
  'pending',
  'running',
  'success',
  'failed',
  'canceling',
  'canceled',
  'skipped',
  'manual',
  'scheduled',
] as const;

export const repoHostBEventNames = new EventNames({
  merge_request: [...changes, 'merge', 'approved', 'unapproved', 'approval', 'unapproval'],
  issue: changes,
  work_item: changes,
  note: ['create', 'update'],
  push: [],
  tag_push: [],
  pipeline: statuses,
  build: statuses,
  deployment: ['created', 'running', 'success', 'failed', 'canceled', 'skipped', 'blocked'],
  release: ['create', 'update', 'delete'],
  wiki_page: ['create', 'update', 'delete'],
  milestone: ['create', 'close', 'reopen', 'delete'],
  emoji: ['award', 'revoke'],
  feature_flag: [],
});
