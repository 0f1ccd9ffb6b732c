import type { RegisterProperties } from '../record/reading-rules.ts'
import type { OwnedObject } from '../tenant.ts'

/** Values of a device that a request can set. */
export type DeviceInput = {
  readonly referenceId: string
  readonly displayName: string | null
  readonly register: RegisterProperties | null
  readonly metadata: Readonly<Record<string, string>>
}

/** Stored device; `createdAt` in ms. */
export type Device = OwnedObject & DeviceInput
