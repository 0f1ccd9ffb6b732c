import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fillCheapestFirst } from '../../../../services/domain/schedule/amount-flow.ts'
import type { Supply } from '../../../../services/domain/schedule/flow-problem.ts'
import { fillFromPools } from '../../../../services/domain/schedule/pool-flow.ts'
import { createPoolNetwork } from '../../../../services/domain/schedule/pool-network.ts'
import { type Answer, type FlowCase, faultOf, flowCase, flowCases } from './flow-case.ts'

const fromPools = ({ problem, pools, offers, supply }: FlowCase): Answer => {
  const network = createPoolNetwork(problem, pools, offers, supply)
  fillFromPools(network)
  return {
    flow: network.graph.flow,
    drawn: network.drawn,
    own: supply.ownEnergy.map((own, slot) => own - (network.ownCapacity[slot] as number)),
  }
}

/** One pool that never runs dry, in which each slot has a price. */
const untiered = ({ problem, offers, supply }: FlowCase): FlowCase => {
  const price = new Map(offers.map(offer => [offer.slot, offer.price]))
  return {
    problem,
    supply,
    pools: [{ capacity: Number.POSITIVE_INFINITY, cost: 0 }],
    offers: Array.from(problem.slotLength, (_, slot) => ({ slot, pool: 0, price: price.get(slot) ?? 0 })),
  }
}

const byPrice = ({ problem, offers, supply }: FlowCase): Answer => {
  const all: (Supply & { readonly price: number; readonly isOwn: boolean })[] = [
    ...offers.map(({ slot, price }) => ({ slot, price, capacity: supply.grid[slot] as number, isOwn: false })),
    ...Array.from(supply.ownEnergy, (capacity, slot) => ({
      slot,
      price: supply.ownPrice[slot] as number,
      capacity,
      isOwn: true,
    })),
  ]
  const groups = [...Map.groupBy(all, ({ price, isOwn }) => `${price} ${isOwn}`).values()].sort(
    ([a], [b]) => (a?.price ?? 0) - (b?.price ?? 0),
  )
  const flow = fillCheapestFirst(problem, groups)
  const used = new Map(groups.flat().map((one, index) => [one, flow.used[index] as number]))
  const [grid, own] = [all.filter(({ isOwn }) => !isOwn), all.filter(({ isOwn }) => isOwn)].map(part =>
    part.map(one => used.get(one) ?? 0),
  )
  return { flow, drawn: grid ?? [], own: own ?? [] }
}

/** Two jobs want the same energy, one of which could have it only from a slot that costs more than the other does now. */
const dearerBehind = flowCase(
  [
    { first: 4, span: 5, rate: 1, demand: 6 },
    { first: 0, span: 9, rate: 2, demand: 17 },
    { first: 8, span: 1, rate: 1, demand: 11 },
    { first: 4, span: 5, rate: 3, demand: 20 },
    { first: 4, span: 5, rate: 3, demand: 7 },
    { first: 8, span: 1, rate: 3, demand: 8 },
  ],
  [27, 7],
  [
    { prices: [6, 3], own: 0, ownPrice: 6, grid: 6 },
    { prices: [3, 3], own: 1, ownPrice: 4, grid: 12 },
    { prices: [null, 5], own: 0, ownPrice: 10, grid: 1 },
    { prices: [null, 4], own: 0, ownPrice: 6, grid: 10 },
    { prices: [null, 4], own: 0, ownPrice: 5, grid: 6 },
    { prices: [null, null], own: 0, ownPrice: 6, grid: 4 },
    { prices: [6, null], own: 0, ownPrice: 11, grid: 9 },
    { prices: [4, 9], own: 2, ownPrice: 3, grid: 6 },
    { prices: [0, 10], own: 0, ownPrice: 4, grid: 11 },
  ],
)

describe('a flow', () => {
  it('from pools that slots share holds the most energy and costs the least of that, to the last unit', () => {
    const property = fc.property(flowCases(4), of => {
      expect(faultOf(of, fromPools(of))).toBeNull()
    })
    fc.assert(property, { numRuns: 400, examples: [[dearerBehind]] })
  })

  it('by price holds the most energy and costs the least of that, to the last unit', () => {
    const property = fc.property(flowCases(1).map(untiered), of => {
      expect(faultOf(of, byPrice(of))).toBeNull()
    })
    fc.assert(property, { numRuns: 400 })
  })

  it('is verified: a flow that costs too much, is too small or does not add up is reported', () => {
    const one = flowCase(
      [{ first: 0, span: 2, rate: 1, demand: 1 }],
      [1],
      [
        { prices: [2], own: 0, ownPrice: 0, grid: 1 },
        { prices: [1], own: 0, ownPrice: 0, grid: 1 },
      ],
    )
    const answer = (drawn: readonly number[], energy: readonly number[], unmet: number): Answer => ({
      drawn,
      own: [0, 0],
      flow: {
        rowStart: Int32Array.of(0),
        energy: Float64Array.from(energy),
        unmet: Float64Array.of(unmet),
        used: new Float64Array(0),
      },
    })
    expect(faultOf(one, answer([0, 1], [0, 1], 0))).toBeNull()
    expect(faultOf(one, answer([1, 0], [1, 0], 0))).toBe('the same could be had for less')
    expect(faultOf(one, answer([0, 0], [0, 0], 1))).toBe('more could be had')
    expect(faultOf(one, answer([0, 1], [1, 0], 0))).toBe('energy is lost')
    expect(faultOf(one, answer([0, 2], [0, 2], -1))).toBe('more than there is room for')
  })
})
