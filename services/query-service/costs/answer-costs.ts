import { defaultEnergyFlow, type sessionCost } from '../../contract/costs/energy-cost.ts'
import type { Operation, Outcome, RequestOf } from '../../contract/operation.ts'
import type { FlowDirections } from '../../platform/clickhouse/meter-cost/location-flows.ts'
import { newId } from '../../platform/ids/new-id.ts'
import { tenantOf } from '../change.ts'
import type { CostDependencies } from '../dependencies.ts'
import { answerWork, type Work } from '../work-thread/run-work.ts'

/** Maximum number of elements that the request thread calculates and writes, which takes some ms. */
export const maxInlineElements = 200
/** Maximum size of rows that the request thread decodes, which takes some ms. */
const maxInlineBytes = 65_536

/** Return the total length of blocks or texts, in bytes or characters. */
export const totalLength = (parts: readonly { readonly length: number }[]): number =>
  parts.reduce((sum, { length }) => sum + length, 0)

/** Return whether blocks of rows are small enough for the request thread. */
export const areSmall = (blocks: readonly Uint8Array[]): boolean => totalLength(blocks) <= maxInlineBytes

type CostName = 'intervalCost' | 'sessionCost'
type InputOf<Name extends CostName> = Work<Name>['input']

/**
 * Calculate costs and write the answer, as a CSV table if the request wants one. Work that is not small runs in the
 * work thread.
 */
export const answerCosts = async <Name extends CostName>(
  dependencies: Pick<CostDependencies, 'thread'>,
  request: Pick<RequestOf<Operation>, 'caller' | 'signal' | 'apiVersion' | 'wantsCsv'>,
  {
    input,
    ...work
  }: Pick<Work<Name>, 'name' | 'isSmall' | 'bytes'> & {
    readonly input: Omit<InputOf<Name>, 'apiVersion' | 'isTable'>
    readonly bytes: number
  },
): Promise<Outcome<never>> => {
  const isTable = request.wantsCsv === true
  const workInput = { ...input, apiVersion: request.apiVersion, isTable } as unknown as InputOf<Name>
  const answer = await answerWork(dependencies, request, { ...work, input: workInput })
  return answer.ok ? { ...answer, isTable } : answer
}

type CostRequest = Pick<RequestOf<Operation>, 'caller' | 'at'> & {
  readonly query: Pick<
    RequestOf<typeof sessionCost>['query'],
    'tariff_direction' | 'energy_flow_direction' | 'include_tariff'
  >
}

/** Return the two directions of a request. */
export const flowOf = ({ query }: Pick<CostRequest, 'query'>): FlowDirections => ({
  tariffDirection: query.tariff_direction,
  energyFlowDirection: query.energy_flow_direction ?? defaultEnergyFlow(query.tariff_direction),
})

/** Return the members that all answers of costs share. */
export const costViewOf = (request: CostRequest, timezone: string, currencyCode: string) => ({
  id: newId('energyCost', request.at),
  ...tenantOf(request),
  ...flowOf(request),
  timezone,
  currencyCode,
  includeTariff: request.query.include_tariff,
  createdAt: request.at,
})
