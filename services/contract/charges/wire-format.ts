import { z } from 'zod'
import { orNull, seriesNumber } from '../answer-field.ts'
import { fields, integer, oneOf, refuseField, requestList, scaledDecimal, text } from '../field.ts'
import { nanoNumber } from '../json/exact-number.ts'
import { optionalOr, type ReadContext, transformed } from '../request-pipe.ts'

/**
 * Form of a value in requests and in answers.
 * Law: a request with the answer of a value reads as an equal value.
 */
export type WireFormat<Value> = {
  readonly request: z.ZodType<Value>
  readonly answer: z.ZodType
  readonly write: (value: Value) => unknown
}

/** Member of an object, by its name in the API. */
type Member<Value> = WireFormat<Value> & { readonly wire: string }

/** Members of an object, by their names in the domain. */
export type Members<Terms> = { readonly [Name in keyof Terms]-?: Member<Terms[Name]> }

/** Name and document a member. */
export const member = <Value>(wire: string, format: WireFormat<Value>, description?: string): Member<Value> =>
  description === undefined
    ? { ...format, wire }
    : { ...format, wire, request: format.request.describe(description), answer: format.answer.describe(description) }

const same = <Value>(request: z.ZodType<Value>, answer: z.ZodType): WireFormat<Value> => ({
  request,
  answer,
  write: value => value,
})

export const flagFormat: WireFormat<boolean> = same(z.boolean(), z.boolean())

/** Text of 1 to `max` characters. */
export const textFormat = (max: number): WireFormat<string> => same(text({ max }), z.string())

export const choiceFormat = <const Values extends readonly [string, ...string[]]>(
  ...values: Values
): WireFormat<Values[number]> => same<Values[number]>(oneOf(...values), z.enum(values))

/** Whole number from `min` to `max`. */
export const wholeNumberFormat = (min: number, max: number): WireFormat<number> =>
  same(integer({ min, max }), z.int().meta({ type: 'integer' }))

/** 1 as an integer of 1e-9. */
export const one = 1_000_000_000n

/** Exact decimal of at most 9 decimals, as an integer of 1e-9. `min` and `max` are such integers. */
export const decimalFormat = (min: bigint, max: bigint): WireFormat<bigint> => ({
  request: scaledDecimal({ scale: 9, min, max }),
  answer: seriesNumber,
  write: nanoNumber,
})

/** Value that is null if the request leaves it out. */
export const nullable = <Value>({ request, answer, write }: WireFormat<Value>): WireFormat<Value | null> => ({
  request: optionalOr(request, null),
  answer: orNull(answer),
  write: value => (value === null ? null : write(value)),
})

/** Value with a default. */
export const withDefault = <Value>(
  { request, answer, write }: WireFormat<Value>,
  value: NoInfer<Value>,
): WireFormat<Value> => ({
  request: optionalOr(request, value).meta({ default: write(value) }),
  answer,
  write,
})

/**
 * List of at most `max` values. Refuses a longer list with `charge_invalid`. `minItems` documents the minimum, which the
 * rules of the charge check.
 */
export const listFormat = <Value>(
  { request, answer, write }: WireFormat<Value>,
  max: number,
  documented: { readonly minItems?: number } = {},
): WireFormat<readonly Value[]> => ({
  request: requestList(request, { max, code: 'charge_invalid' }).meta(documented),
  answer: z.array(answer),
  write: list => list.map(write),
})

/** List of at most `max` different values. */
export const setFormat = <Value extends string | number>(
  format: WireFormat<Value>,
  max: number,
): WireFormat<readonly Value[]> => {
  const list = listFormat(format, max)
  const request = list.request.superRefine((values, context) => {
    const repeated = values.findIndex((value, index) => values.indexOf(value) !== index)
    if (repeated >= 0) refuseField(context, 'charge_invalid', 'must not repeat an earlier entry', [repeated])
  })
  return { ...list, request }
}

/** Value that the domain has in another form. */
export const mapFormat = <Wire, Value>(
  { request, answer, write }: WireFormat<Wire>,
  read: (wire: Wire, context: ReadContext) => Value,
  toWire: (value: Value) => Wire,
): WireFormat<Value> => ({ request: transformed(request, read), answer, write: value => write(toWire(value)) })

type MemberEntries = readonly (readonly [string, Member<unknown>])[]

/** Members with their names in the domain. A member writes only its own value, so that its type is not needed. */
const entriesOf = <Terms>(members: Members<Terms>): MemberEntries =>
  Object.entries(members as unknown as Readonly<Record<string, Member<unknown>>>)

/** Return the shape of members in requests or in answers. */
export const shapeOf = <Terms>(
  members: Members<Terms>,
  side: 'request' | 'answer',
): Readonly<Record<string, z.ZodType>> =>
  Object.fromEntries(entriesOf(members).map(([, { wire, [side]: shape }]) => [wire, shape]))

/** Return a function that gives the members of a request their names in the domain. */
export const readerOf = <Terms>(members: Members<Terms>): ((sent: Readonly<Record<string, unknown>>) => Terms) => {
  const entries = entriesOf(members)
  // The shape of `members` has read each value.
  return sent => Object.fromEntries(entries.map(([name, { wire }]) => [name, sent[wire]])) as Terms
}

/** Write members with their names in the API. */
export const writeMembers = <Terms>(members: Members<Terms>, terms: Terms): Readonly<Record<string, unknown>> =>
  Object.fromEntries(entriesOf(members).map(([name, { wire, write }]) => [wire, write(terms[name as keyof Terms])]))

/** Object with known members. `component` is its name in the OpenAPI document. */
export const objectFormat = <Terms extends object>(component: string, members: Members<Terms>): WireFormat<Terms> => ({
  request: transformed(fields(shapeOf(members, 'request')).meta({ component: `${component}Input` }), readerOf(members)),
  answer: z.object(shapeOf(members, 'answer')).meta({ component }),
  write: terms => writeMembers(members, terms),
})
