import { z } from 'zod'
import type { RegisterProperties } from '../../domain/record/reading-rules.ts'
import { exampleObject, instantOrNull, instantText, objectToWire, orNull } from '../answer-field.ts'
import { dryRunParameter } from '../dry-run.ts'
import { objectIdentifier, referenceId, text } from '../field.ts'
import { listing, listParameters } from '../list.ts'
import { answerMember, defineObject, requiredMember } from '../object-member.ts'
import { defineOperation, deletion, retrieval, sameRoute } from '../operation.ts'
import { parameters } from '../parameter.ts'
import { cursorReferences, deviceOnly, locationOnly } from '../reference.ts'
import { displayNameMember, metadataMember, referenceForm } from './own-members.ts'
import { registerMember, registerToWire } from './register.ts'

const deviceMembers = {
  referenceId: requiredMember(
    'reference_id',
    { body: referenceId, answer: z.string() },
    { answer: "The caller's own reference.", form: referenceForm },
  ),
  displayName: displayNameMember(),
  lastSeenAt: answerMember(
    'last_seen',
    orNull(instantText).describe('Time at which the newest record of the device was received.'),
    instantOrNull,
  ),
  register: registerMember,
  metadata: metadataMember(),
} as const

/** Device of the API. `lastSeenAt`: time (ms) of its newest record, or null. */
export const deviceObject = defineObject('dev', 'device', deviceMembers)

export const deviceShape = deviceObject.shape

export type DeviceWire = z.output<typeof deviceShape>

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
  body: deviceObject.creation,
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
  body: deviceObject.patch,
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
