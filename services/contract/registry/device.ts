import { z } from 'zod'
import type { RegisterProperties } from '../../domain/record/reading-rules.ts'
import type { OwnedObject } from '../../domain/tenant.ts'
import { exampleObject, instantOrNull, instantText, objectShape, objectToWire, orNull } from '../answer-field.ts'
import { dryRunParameter } from '../dry-run.ts'
import { clearable, displayName, fields, metadata, objectIdentifier, optional, referenceId, text } from '../field.ts'
import { fixedMembers } from '../fixed-member.ts'
import type { JsonObject } from '../json/json-path.ts'
import { listing, listParameters } from '../list.ts'
import { defineOperation, deletion, retrieval, sameRoute } from '../operation.ts'
import { parameters } from '../parameter.ts'
import { cursorReferences, deviceOnly, locationOnly } from '../reference.ts'
import { describeRegister, registerBody, registerShape, registerToWire } from './register.ts'

export const deviceShape = objectShape('dev', 'device', {
  reference_id: z.string().describe("The caller's own reference."),
  display_name: orNull(z.string()).describe('Name for people. It identifies nothing.'),
  last_seen: orNull(instantText).describe('Time at which the newest record of the device was received.'),
  register: orNull(registerShape).describe(describeRegister),
  metadata: z.record(z.string(), z.string()),
})

export type DeviceWire = z.output<typeof deviceShape>

/** Stored device; instants in ms, `lastSeenAt` null if no record was received. */
export type Device = OwnedObject & {
  readonly referenceId: string
  readonly displayName: string | null
  readonly lastSeenAt: number | null
  readonly register: RegisterProperties | null
  readonly metadata: Readonly<Record<string, string>>
}

/** Write a device. */
export const deviceToWire = (device: Device): DeviceWire =>
  objectToWire('device', device, {
    reference_id: device.referenceId,
    display_name: device.displayName,
    last_seen: instantOrNull(device.lastSeenAt),
    register: registerToWire(device.register),
    metadata: { ...device.metadata },
  })

const exampleRegister: RegisterProperties = {
  kind: 'LIFETIME',
  digits: 6,
  maxPower: { units: 'KW', power: '22000000000' },
}

const example: DeviceWire = objectToWire('device', exampleObject('dev'), {
  reference_id: 'charger-4711',
  display_name: 'Charger at the gate',
  last_seen: '2025-09-14T11:15:00Z',
  register: registerToWire(exampleRegister),
  metadata: {},
})

/** Values of a device that a request can set. */
export type DeviceInput = Pick<Device, 'referenceId' | 'displayName' | 'register' | 'metadata'>

/** Read the body that creates a device. */
const deviceCreation = fields({
  reference_id: referenceId,
  display_name: optional(displayName),
  register: optional(registerBody).describe(describeRegister),
  metadata: optional(metadata),
}).transform(
  (wire): DeviceInput => ({
    referenceId: wire.reference_id,
    displayName: wire.display_name ?? null,
    register: wire.register ?? null,
    metadata: wire.metadata ?? {},
  }),
)

const changeableFields = {
  reference_id: referenceId.optional(),
  display_name: clearable(displayName),
  register: clearable(registerBody).describe(describeRegister),
  metadata: clearable(metadata),
}

/** Names of the members of a device that a PATCH can change. */
export const changeableDeviceFields: readonly string[] = Object.keys(changeableFields)

/**
 * Read the body that changes a device. Absent members do not change; null clears a member. `sent` is the received body.
 */
const devicePatch = fields({ ...fixedMembers(deviceShape), ...changeableFields }).transform(wire => ({
  sent: wire as JsonObject,
  change: deviceChangeOf(wire),
}))

const deviceChangeOf = (wire: z.output<z.ZodObject<typeof changeableFields>>): Partial<DeviceInput> => ({
  ...(wire.reference_id === undefined ? {} : { referenceId: wire.reference_id }),
  ...(wire.display_name === undefined ? {} : { displayName: wire.display_name }),
  ...(wire.register === undefined ? {} : { register: wire.register }),
  ...(wire.metadata === undefined ? {} : { metadata: wire.metadata ?? {} }),
})

const tag = 'Devices'
const answer = { name: 'Device', shape: deviceShape }

export const deviceCreate = defineOperation({
  id: 'device_create',
  summary: 'Create a device',
  description:
    'A charger, battery or meter. Each record of a device names the location of the device. The reference_id is unique in the account and mode.',
  tag,
  access: 'all',
  routes: sameRoute('POST', '/devices'),
  query: parameters({ dry_run: dryRunParameter }),
  dryRun: true,
  body: deviceCreation,
  answer,
  status: 201,
  idempotent: true,
  refusals: ['reference_id_taken'],
  examples: {
    body: {
      reference_id: 'charger-4711',
      display_name: 'Charger at the gate',
      register: { kind: 'LIFETIME', digits: 6, max_power: { units: 'KW', value: 22 } },
    },
    answer: { ...example, last_seen: null },
  },
})

export const deviceList = defineOperation({
  id: 'device_list',
  summary: 'List devices',
  description: 'Newest first. With location_id: only devices with stored records at that location.',
  tag,
  ...listing('Device', deviceShape, '/devices', example),
  routes: sameRoute('GET', '/devices'),
  references: { query: { ...cursorReferences(deviceOnly), location_id: locationOnly } },
  query: listParameters({
    reference_id: text().optional().describe('Only the device with this reference.'),
    location_id: objectIdentifier('loc').optional().describe('Only devices with records at this location.'),
  }),
  refusals: ['cursor_not_found', 'location_not_found'],
})

export const deviceRetrieve = defineOperation({
  id: 'device_retrieve',
  summary: 'Retrieve a device',
  description: 'Returns the device and the time of its last received record.',
  tag,
  ...retrieval(answer, example),
  routes: sameRoute('GET', '/devices/{id}'),
  references: { id: deviceOnly },
})

export const deviceUpdate = defineOperation({
  id: 'device_update',
  summary: 'Update a device',
  description:
    'Absent members do not change; null clears the name, the register and the metadata. A device always has a reference_id. Other members may be sent back unchanged.',
  tag,
  access: 'all',
  routes: sameRoute('PATCH', '/devices/{id}'),
  references: { id: deviceOnly },
  query: parameters({ dry_run: dryRunParameter }),
  dryRun: true,
  body: devicePatch,
  answer,
  status: 200,
  refusals: ['reference_id_taken', 'field_immutable'],
  examples: { body: { reference_id: 'charger-4712' }, answer: { ...example, reference_id: 'charger-4712' } },
})

export const deviceDelete = defineOperation({
  id: 'device_delete',
  summary: 'Delete a device',
  description: 'Metering records stay for the costs of the account. New records are refused within 60 seconds.',
  tag,
  ...deletion,
  routes: sameRoute('DELETE', '/devices/{id}'),
  references: { id: deviceOnly },
})
