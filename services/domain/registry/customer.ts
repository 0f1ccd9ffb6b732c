import type { OwnedObject } from '../tenant.ts'

/** Values of a customer that a request can set. */
export type CustomerInput = {
  readonly referenceId: string | null
  readonly displayName: string | null
  readonly metadata: Readonly<Record<string, string>>
}

/** Stored customer, with the ids of its locations, oldest first; `createdAt` in ms. */
export type Customer = OwnedObject & CustomerInput & { readonly locationIds: readonly string[] }
