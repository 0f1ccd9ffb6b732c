import type { Refusal } from '../refusal.ts'
import type { OwnedObject } from '../tenant.ts'

/** Local days of a location for which a plan applies, as day numbers of `civil-date.ts`; null is open. */
export type AssignmentInput = {
  readonly locationId: string
  readonly startDay: number
  readonly endDay: number | null
}

/** New assignment of a plan. */
export type AssignmentDraft = AssignmentInput & { readonly id: string }

/** Stored assignment. `refusal`: reason why the versions of the plan cannot be applied, or null. */
export type StoredAssignment = OwnedObject &
  AssignmentInput & {
    readonly planId: string
    readonly isApplied: boolean
    readonly refusal: Pick<Refusal, 'code' | 'message'> | null
  }
