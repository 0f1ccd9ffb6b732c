import { formatThousands } from '../../contract/message-text.ts'
import type { FailedAssignment } from '../../contract/plans/plan-assignment.ts'
import type { AssignmentDraft, AssignmentInput } from '../../domain/plan/assignment.ts'
import { decideSite, refuseOverlap, type SiteChanges } from '../../domain/plan/decide-site.ts'
import { planLimits } from '../../domain/plan/plan.ts'
import { type Refusal, type Result, refused } from '../../domain/refusal.ts'
import { startTimeSlices } from '../../platform/concurrency/time-slices.ts'
import type { DecidedSite } from '../../platform/postgres/plans/apply-sites.ts'
import { newAssignmentId } from '../../platform/postgres/plans/plan-assignments.ts'
import type { LoadedSite } from '../../platform/postgres/plans/plan-sites.ts'
import type { StoredPlanTerms } from '../../platform/postgres/plans/plan-terms.ts'

/** Element of a request, with its number from 1. */
export type Element = AssignmentInput & { readonly number: number }

/** Assignments of one page of locations: the new ones and the refused elements. */
export type DecidedPage = {
  readonly drafts: readonly (AssignmentDraft & { readonly number: number })[]
  readonly decided: readonly DecidedSite[]
  readonly failed: readonly FailedAssignment[]
}

const unknownLocation: Refusal = refused(
  'location_not_found',
  'No location has this id: send the id of a location',
  'location_id',
).refusal

/**
 * Decide the elements of one location one after the other, so that each sees the accepted ones before it. Other work
 * runs between two elements.
 */
export const decideLocation = async (
  terms: StoredPlanTerms,
  loaded: LoadedSite | undefined,
  elements: readonly Element[],
  at: number,
): Promise<DecidedPage> => {
  const slices = startTimeSlices(terms.accountId)
  const drafts: (AssignmentDraft & { readonly number: number })[] = []
  const failed: FailedAssignment[] = []
  let changes: SiteChanges | null = null
  for (const { number, locationId, startDay, endDay } of elements) {
    if (slices.isOver()) await slices.pause()
    const draft = { id: newAssignmentId(at), number, locationId, startDay, endDay }
    const assignments = [...(loaded?.assignments ?? []), ...drafts]
    const overlap = refuseOverlap(locationId, draft, assignments)
    const decided: Result<SiteChanges> =
      loaded === undefined
        ? { ok: false, refusal: unknownLocation }
        : overlap !== null
          ? { ok: false, refusal: overlap }
          : decideSite(terms, [...assignments, draft], loaded.site)
    if (!decided.ok) {
      failed.push({ number, locationId: loaded === undefined ? null : locationId, refusal: decided.refusal })
      continue
    }
    drafts.push(draft)
    changes = decided.value
  }
  const [first] = drafts
  return {
    drafts,
    failed,
    decided: first === undefined || changes === null ? [] : [{ locationId: first.locationId, changes }],
  }
}

/** Number the elements of a body, and refuse the elements that could not be read. */
export const readElements = (
  body: readonly Result<AssignmentInput>[],
): { readonly elements: readonly Element[]; readonly failed: readonly FailedAssignment[] } => {
  const elements: Element[] = []
  const failed: FailedAssignment[] = []
  for (const [index, read] of body.entries()) {
    if (read.ok) elements.push({ ...read.value, number: index + 1 })
    else failed.push({ number: index + 1, locationId: null, refusal: read.refusal })
  }
  return { elements, failed }
}

/** Refuse a request if a plan would have too many assignments: the stored ones and those of the request. */
export const refuseAssignmentCount = (stored: number, requested: number): Refusal | null => {
  if (stored + requested <= planLimits.sites) return null
  const message = `A plan has at most ${formatThousands(planLimits.sites)} assignments: use another plan for the others`
  return refused('too_many_assignments', message).refusal
}
