import {
  chargeCreate,
  chargeDelete,
  chargeList,
  chargeListUrl,
  chargePatch,
  chargeRetrieve,
  chargeUpdate,
} from '../../contract/charges/charge.ts'
import { readCharge } from '../../contract/charges/read-charge.ts'
import { type ChargeWire, chargeToWire } from '../../contract/charges/write-charge.ts'
import { refuseFixedChange } from '../../contract/fixed-member.ts'
import { defaultComponents, type StoredCharge } from '../../domain/charge/charge.ts'
import { noNamedObject, noObject } from '../../domain/no-object.ts'
import { accepted } from '../../domain/refusal.ts'
import { mapInTimeSlices } from '../../platform/concurrency/time-slices.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import {
  createCharge,
  deleteCharge,
  listChargePage,
  lockCharge,
  retrieveCharge,
  updateCharge,
} from '../../platform/postgres/pricing/charges.ts'
import { retrieveLocation } from '../../platform/postgres/registry/locations.ts'
import { type Change, change, deletion, omitUndefined } from '../change.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'
import { answerList, answerOne } from '../list.ts'

const noCharge = noObject('charge')

/** Describe a change of a charge, with its event and audit entry. */
export const chargeChange = (charge: StoredCharge, type: string): Change<ChargeWire> => {
  const value = chargeToWire(charge)
  return {
    value,
    events: [{ type, objectId: charge.id, data: value }],
    audit: [{ action: type, objectId: charge.id, detail: value }],
  }
}

const createBinding = (dependencies: QueryServiceDependencies): Binding =>
  bind(chargeCreate, async request => {
    const read = readCharge(request.body)
    if (!read.ok) return read
    return change(dependencies, chargeCreate, request, async transaction => {
      const draft = { ...read.value, planId: null, planVersion: null }
      const created = await createCharge(transaction, draft, request.at)
      return created.ok ? accepted(chargeChange(created.value, 'charge.create')) : created
    })
  })

const updateBinding = (dependencies: QueryServiceDependencies): Binding =>
  bind(chargeUpdate, request =>
    change(dependencies, chargeUpdate, request, async transaction => {
      const before = await lockCharge(transaction, request.id)
      if (before === null) return noCharge
      const advice = 'end the charge with end_date and create another one'
      const refusal = refuseFixedChange(request.body, chargeToWire(before), Object.keys(chargePatch), advice)
      if (refusal !== null) return { ok: false, refusal }
      const { name, component, start_date: startDay, end_date: endDay } = request.body
      const updated = await updateCharge(
        transaction,
        before,
        omitUndefined({
          name,
          component: component === null ? defaultComponents[before.terms.kind] : component,
          startDay,
          endDay,
        }),
      )
      return updated.ok ? accepted(chargeChange(updated.value, 'charge.update')) : updated
    }),
  )

/** Bind the operations on charges. */
export const chargeOperations = (dependencies: QueryServiceDependencies): readonly Binding[] => [
  createBinding(dependencies),
  bind(chargeList, request => {
    const { location_id: locationId = null } = request.query
    return answerList(
      dependencies,
      request,
      chargeListUrl,
      async (transaction, page) =>
        locationId !== null && (await retrieveLocation(transaction, locationId)) === null
          ? noNamedObject('location', 'location_id')
          : listChargePage(transaction, { locationId }, page),
      charges => mapInTimeSlices(charges, read => chargeToWire(read()), request.caller.accountId),
    )
  }),
  bind(chargeRetrieve, request => answerOne(dependencies, request, retrieveCharge, noCharge, chargeToWire)),
  updateBinding(dependencies),
  bind(chargeDelete, request =>
    change(dependencies, chargeDelete, request, async transaction => {
      const deleted = await deleteCharge(transaction, request.id, request.at)
      if (!deleted.ok) return deleted
      return accepted(deletion(chargeChange(deleted.value, 'charge.delete').events))
    }),
  ),
]
