import { z } from 'zod'
import type { OwnedObject } from '../../domain/tenant.ts'
import { idText, instantOrNull, instantText, objectShape, objectToWire, orNull } from '../answer-field.ts'
import { defineOperation, sameRoute } from '../operation.ts'
import { locationOnly } from '../reference.ts'
import { type TariffKind, type TariffStatus, tariffKinds, tariffStatuses } from './location.ts'

const structureTypes = ['FIXED', 'TIME_OF_DAY', 'MARKET', 'DYNAMIC'] as const
/** Kind of price changes of a tariff: none, by time, with the market, or with the market and by time. */
export type StructureType = (typeof structureTypes)[number]

/** State of one kind of tariff at a location. */
export type TariffKindStatus = {
  readonly status: TariffStatus
  readonly connectionType: string | null
  readonly provider: { readonly id: string; readonly displayName: string; readonly logoUrl: string | null } | null
  readonly tariff: {
    readonly id: string
    readonly displayName: string | null
    readonly structureType: StructureType
    readonly contractStart: number | null
    readonly contractEnd: number | null
  } | null
}

/** Tariffs of a location by kind; `createdAt` (ms) of the location. */
export type LocationStatusView = OwnedObject & {
  readonly kinds: Readonly<Record<TariffKind, TariffKindStatus>>
}

const kindShape = z
  .object({
    status: z.enum(tariffStatuses).describe('CONNECTED if a tariff is in force at the time of the request.'),
    connection_type: z.string().optional(),
    provider: z.object({ id: idText('prv'), display_name: z.string(), logo_url: orNull(z.string()) }).optional(),
    tariff: z
      .object({
        id: idText('trf'),
        display_name: orNull(z.string()),
        structure_type: z.enum(structureTypes),
        contract_start_date: orNull(instantText),
        contract_end_date: orNull(instantText),
      })
      .optional()
      .describe('The tariff in force. If none is in force: the next tariff, or else the last one.'),
  })
  .meta({ component: 'TariffKindStatus' })

const locationStatusShape = objectShape('loc', 'location_status', {
  tariff_status: z.object({
    commodity_import: kindShape,
    commodity_export: kindShape,
    non_commodity_import: kindShape,
    non_commodity_export: kindShape,
    local: kindShape,
  }),
})

const kindToWire = ({ status, connectionType, provider, tariff }: TariffKindStatus): z.input<typeof kindShape> => ({
  status,
  ...(connectionType === null ? {} : { connection_type: connectionType }),
  ...(provider === null
    ? {}
    : { provider: { id: provider.id, display_name: provider.displayName, logo_url: provider.logoUrl } }),
  ...(tariff === null
    ? {}
    : {
        tariff: {
          id: tariff.id,
          display_name: tariff.displayName,
          structure_type: tariff.structureType,
          contract_start_date: instantOrNull(tariff.contractStart),
          contract_end_date: instantOrNull(tariff.contractEnd),
        },
      }),
})

export type LocationStatusWire = z.input<typeof locationStatusShape>

/** Write the status of a location. A kind without a tariff has only its status. */
export const locationStatusToWire = (view: LocationStatusView): LocationStatusWire =>
  objectToWire('location_status', view, {
    tariff_status: Object.fromEntries(tariffKinds.map(kind => [kind, kindToWire(view.kinds[kind])])) as Record<
      TariffKind,
      z.input<typeof kindShape>
    >,
  })

export const locationStatusRetrieve = defineOperation({
  id: 'location_status_retrieve',
  summary: 'Retrieve the status of a location',
  description:
    'Returns for each kind the tariff in force at the time of the request, its source, and the start and end of its contract. If no tariff is in force, the kind is NOT_CONNECTED and shows the next tariff, or else the last one. Tariffs for grid fees on export do not exist: that kind is NOT_SUPPORTED.',
  tag: 'Locations',
  access: 'read',
  routes: sameRoute('GET', '/locations/{id}/status'),
  references: { id: locationOnly },
  answer: { name: 'LocationStatus', shape: locationStatusShape },
  status: 200,
})
