import type { z } from 'zod'
import { objectShape, objectToWire, type WrittenObject } from './answer-field.ts'
import { clearable, fields, optional } from './field.ts'
import { fixedMembers } from './fixed-member.ts'
import type { JsonObject } from './json/json-path.ts'

/** Texts of a member: its descriptions in the API, and its input in forms. `each`: description of all shapes. */
type MemberTexts = {
  readonly each?: string
  readonly creation?: string
  readonly patch?: string
  readonly answer?: string
  readonly form?: FormTexts
}

/** Label and hint of an input. `type` json: the input is a JSON object. */
export type FormTexts = { readonly label: string; readonly hint?: string; readonly type?: 'json' }

/** Member that only answers have: its name in the API, its shape, and its value in an answer. */
type AnswerMember<Wire extends string, Written, Answer extends z.ZodType> = {
  readonly wire: Wire
  readonly answer: Answer
  readonly write: (value: Written) => z.output<Answer>
}

/** Member that a request can set. `creation` reads an absent member as its default, `patch` as undefined. */
type SettableMember<Wire extends string, Value, Written, Answer extends z.ZodType> = AnswerMember<
  Wire,
  Written,
  Answer
> & {
  readonly creation: z.ZodType<Value>
  readonly patch: z.ZodType<Value | undefined>
  readonly form?: FormTexts
  /** The body that creates an object must have the member. */
  readonly isRequired?: boolean
}

/** Shapes of a member in requests and in answers. `write` absent: an answer has the value of the domain. */
type Format<Value, Written, Answer extends z.ZodType> = {
  readonly body: z.ZodType<Value>
  readonly answer: Answer
  readonly write?: (value: Written) => z.output<Answer>
}

const described = <Shape extends z.ZodType>(
  shape: Shape,
  texts: MemberTexts,
  side: 'creation' | 'patch' | 'answer',
): Shape => {
  const { [side]: description = texts.each } = texts
  return description === undefined ? shape : shape.describe(description)
}

/** Create the part of a member that all members have. */
const memberOf = <const Wire extends string, Value, Written, Answer extends z.ZodType>(
  wire: Wire,
  { answer, write = value => value as z.output<Answer> }: Format<Value, Written, Answer>,
  texts: MemberTexts,
) => ({
  wire,
  answer: described(answer, texts, 'answer'),
  write,
  ...(texts.form === undefined ? {} : { form: texts.form }),
})

/** Define a member that only answers have. `write` absent: an answer has the value of the domain. */
export const answerMember = <const Wire extends string, Answer extends z.ZodType, Written = z.output<Answer>>(
  wire: Wire,
  answer: Answer,
  write: (value: Written) => z.output<Answer> = value => value as z.output<Answer>,
): AnswerMember<Wire, Written, Answer> => ({ wire, answer, write })

/** Define a member that every object has. A PATCH cannot clear the member. */
export const requiredMember = <const Wire extends string, Value, Answer extends z.ZodType, Written = z.output<Answer>>(
  wire: Wire,
  format: Format<Value, Written, Answer>,
  texts: MemberTexts = {},
): SettableMember<Wire, Value, Written, Answer> => ({
  ...memberOf(wire, format, texts),
  isRequired: true,
  creation: described(format.body, texts, 'creation'),
  patch: described(format.body.optional(), texts, 'patch'),
})

/** Define a member with a default. Null in a PATCH sets the default. */
export const optionalMember = <
  const Wire extends string,
  Value,
  Default,
  Answer extends z.ZodType,
  Written = z.output<Answer>,
>(
  wire: Wire,
  absent: Default,
  format: Format<Value, Written, Answer>,
  texts: MemberTexts = {},
): SettableMember<Wire, Value | Default, Written, Answer> => ({
  ...memberOf(wire, format, texts),
  creation: described(optional(format.body), texts, 'creation').transform(value => value ?? absent),
  patch: described(clearable(format.body), texts, 'patch').transform(value => (value === null ? absent : value)),
})

/** Define a member with a default. A PATCH can replace the value, and cannot clear it. */
export const replaceableMember = <const Wire extends string, Value, Answer extends z.ZodType, Written>(
  wire: Wire,
  absent: Value,
  format: Format<Value, Written, Answer>,
  texts: MemberTexts = {},
): SettableMember<Wire, Value, Written, Answer> => ({
  ...memberOf(wire, format, texts),
  creation: optional(described(format.body, texts, 'creation')).transform(value => value ?? absent),
  patch: described(format.body.optional(), texts, 'patch'),
})

/** Define a member that is fixed after the creation. */
export const fixedAfterCreation = <Member extends { readonly patch: z.ZodType }>({
  patch: _,
  ...member
}: Member): Omit<Member, 'patch'> => member

/** Members of an object by their names in the domain, in the order of answers. */
export type MemberTable = Readonly<
  Record<
    string,
    {
      readonly wire: string
      readonly answer: z.ZodType
      readonly write: (value: never) => unknown
      readonly creation?: z.ZodType
      readonly patch?: z.ZodType
      readonly form?: FormTexts
      readonly isRequired?: boolean
    }
  >
>

type NameWith<Table extends MemberTable, Side extends 'creation' | 'patch'> = {
  [Name in keyof Table]: Table[Name] extends { readonly [side in Side]: z.ZodType } ? Name : never
}[keyof Table]

type Creation<Table extends MemberTable> = {
  readonly [Name in NameWith<Table, 'creation'>]: z.output<NonNullable<Table[Name]['creation']>>
}

type Change<Table extends MemberTable> = {
  readonly [Name in NameWith<Table, 'patch'>]?: Exclude<z.output<NonNullable<Table[Name]['patch']>>, undefined>
}

type Values<Table extends MemberTable> = { readonly [Name in keyof Table]: Parameters<Table[Name]['write']>[0] }

type AnswerShape<Table extends MemberTable> = { [Name in keyof Table as Table[Name]['wire']]: Table[Name]['answer'] }

/** Return the members of an answer. */
export const answerShapeOf = <Table extends MemberTable>(members: Table): AnswerShape<Table> =>
  Object.fromEntries(Object.values(members).map(({ wire, answer }) => [wire, answer])) as AnswerShape<Table>

/** Write the members of an answer. */
export const writeMembers = <Table extends MemberTable>(members: Table, values: Values<Table>) =>
  Object.fromEntries(
    Object.entries(members).map(([name, { wire, write }]) => [wire, write(values[name] as never)]),
  ) as { [Name in keyof Table as Table[Name]['wire']]: z.output<Table[Name]['answer']> }

/** Names in the API of the members that a PATCH can change. */
export const changeableMembers = (members: MemberTable): readonly string[] =>
  Object.values(members).flatMap(({ wire, patch }) => (patch === undefined ? [] : [wire]))

/** Return names in the domain and in the API of the members that a request can set, and their shapes. */
const settableMembers = (members: MemberTable, side: 'creation' | 'patch') => {
  const names = Object.entries(members).flatMap(([name, { wire, [side]: shape }]) =>
    shape === undefined ? [] : [[name, wire, shape] as const],
  )
  return { names, shapes: Object.fromEntries(names.map(([, wire, shape]) => [wire, shape])) }
}

type Shapes = Readonly<Record<string, z.ZodType>>

const pick = (sent: object, names: Shapes) =>
  Object.fromEntries(Object.entries(sent).filter(([name]) => Object.hasOwn(names, name)))
const omit = (sent: object, names: Shapes) =>
  Object.fromEntries(Object.entries(sent).filter(([name]) => !Object.hasOwn(names, name)))

/** Return the shape of the body that creates an object. `others`: members of the request that stay as they are. */
export const creationOf = <Table extends MemberTable>(members: Table, others: Shapes = {}) => {
  const { names, shapes } = settableMembers(members, 'creation')
  return fields({ ...others, ...shapes }).transform(sent => {
    const values = Object.fromEntries(names.map(([name, wire]) => [name, sent[wire]]))
    return { ...pick(sent, others), ...values } as Creation<Table>
  })
}

/**
 * Return the shape of the body that changes an object of a shape. Absent members do not change; null clears a member.
 * `sent`: the members of the body, for `refuseFixedChange`. `others`: members of the request that stay as they are.
 */
export const patchOf = <Table extends MemberTable>(members: Table, answer: z.ZodObject, others: Shapes = {}) => {
  const { names, shapes } = settableMembers(members, 'patch')
  return fields({ ...fixedMembers(answer), ...shapes, ...others }).transform(sent => ({
    ...pick(sent, others),
    sent: omit(sent, others) as JsonObject,
    change: Object.fromEntries(
      names.flatMap(([name, wire]) => (sent[wire] === undefined ? [] : [[name, sent[wire]]])),
    ) as Change<Table>,
  }))
}

/**
 * Define a stored object of the API by its members: the shapes of its answer and requests, and the writer of its answer.
 * `others`: members of its requests that stay as they are, such as `dry_run`.
 */
export const defineObject = <Name extends string, Table extends MemberTable>(
  prefix: string,
  object: Name,
  members: Table,
  others?: Shapes,
) => {
  const shape = objectShape(prefix, object, answerShapeOf(members))
  return {
    members,
    shape,
    creation: creationOf(members, others),
    patch: patchOf(members, shape, others),
    /** Names in the API of the members that a PATCH can change. */
    changeable: changeableMembers(members),
    toWire: <AccountId extends string | null>(stored: WrittenObject<AccountId> & Values<Table>) =>
      objectToWire(object, stored, writeMembers(members, stored)),
  }
}
