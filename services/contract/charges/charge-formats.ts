import {
  basicChargeKinds,
  type ChargeBase,
  derivedChargeKinds,
  type EnergySelection,
  type LineKind,
  type PriceUnit,
  type Proration,
} from '../../domain/charge/charge.ts'
import { objectIdentifier } from '../field.ts'
import {
  choiceFormat,
  decimalFormat,
  listFormat,
  type Members,
  mapFormat,
  member,
  nullable,
  objectFormat,
  one,
  textFormat,
  type WireFormat,
  withDefault,
} from './wire-format.ts'

const maxMoney = 1_000_000_000n * one

/** Amount or price in major units of the currency. */
export const moneyFormat: WireFormat<bigint> = decimalFormat(-maxMoney, maxMoney)

/** Amount that is not below 0. */
export const positiveMoneyFormat: WireFormat<bigint> = decimalFormat(0n, maxMoney)

/** Price per kWh in major units of the currency. */
export const energyPriceFormat: WireFormat<bigint> = decimalFormat(-1_000_000n * one, 1_000_000n * one)

/** Number of units. */
export const quantityFormat: WireFormat<bigint> = decimalFormat(0n, 1_000_000_000n * one)

/** Power in kW. */
export const powerFormat: WireFormat<bigint> = decimalFormat(0n, 1_000_000_000n * one)

export const unitFormat: WireFormat<PriceUnit> = choiceFormat('DAY', 'MONTH', 'YEAR')

export const prorationFormat: WireFormat<Proration> = withDefault(choiceFormat('DAYS', 'NONE'), 'DAYS')

export const maxComponentLength = 64

/** Name that groups lines. */
export const componentFormat: WireFormat<string> = textFormat(maxComponentLength)

/** List that is null if the request leaves it out or sends an empty list. */
export const optionalList = <Value>(list: WireFormat<readonly Value[]>): WireFormat<readonly Value[] | null> =>
  mapFormat(
    nullable(list),
    values => (values?.length === 0 ? null : values),
    values => values,
  )

const maxDevices = 100

const deviceId: WireFormat<string> = { ...textFormat(255), request: objectIdentifier('dev') }

/** Devices that a charge reads. */
export const deviceIdsFormat: WireFormat<readonly string[] | null> = nullable(listFormat(deviceId, maxDevices))

/** Members that select the records of a charge. */
export const selectionMembers: Members<EnergySelection> = {
  counts: member(
    'counts',
    withDefault(choiceFormat('IMPORT', 'EXPORT', 'GROSS', 'NET_IMPORT'), 'IMPORT'),
    'IMPORT is bought, EXPORT is sold, GROSS is bought and own generation, NET_IMPORT is IMPORT less EXPORT in each interval. Default: IMPORT.',
  ),
  deviceIds: member('device_ids', deviceIdsFormat, 'Only records of these devices. Default: all records.'),
}

const maxBaseValues = 50
const notEmpty = { minItems: 1 } as const

const baseKinds: readonly [LineKind, ...LineKind[]] = ['ENERGY', ...basicChargeKinds, ...derivedChargeKinds]

/** Lines that a limit or percentage reads. */
export const baseFormat: WireFormat<ChargeBase> = withDefault(
  objectFormat<ChargeBase>('ChargeBase', {
    kinds: member(
      'kinds',
      nullable(listFormat(choiceFormat(...baseKinds), maxBaseValues, notEmpty)),
      'Only lines of these kinds.',
    ),
    components: member(
      'components',
      nullable(listFormat(componentFormat, maxBaseValues, notEmpty)),
      'Only lines of these components.',
    ),
    directions: member(
      'directions',
      withDefault(listFormat(choiceFormat('IMPORT', 'EXPORT'), 2, notEmpty), ['IMPORT']),
      'Only lines of these directions. The first one is the direction of the line itself. Default: IMPORT.',
    ),
  }),
  { kinds: null, components: null, directions: ['IMPORT'] },
)
