import { callRequest, type OperationOf } from '../../contract/call.ts'
import type { Content } from '../../web/ui-kit/html.ts'
import type { ListOf } from '../api.ts'
import type { ConsoleRequest } from '../console-request.ts'
import type { Column, TableView } from '../kit/data-table.ts'
import type { TextFormat } from './line-formats.ts'

/** Member of a form. A dot in the name is a member of an object: `postal_address.city`. */
export type FormMember = {
  readonly name: string
  readonly label: string
  readonly hint?: string
  /** `json` members are JSON; a `whole` member is the JSON of the whole body. */
  readonly type?: 'text' | 'json' | 'whole'
  /** Format of a number or a list. Absent: a text, or JSON by `type`. */
  readonly format?: TextFormat
  /** Values of a selection with their labels. */
  readonly options?: readonly (readonly [value: string, label: string])[]
  readonly isRequired?: boolean
  /** The member is fixed after the creation. */
  readonly isFixed?: boolean
}

/** Way to end an object. `parameters` select it in the API. */
export type Deletion<Wire> = {
  readonly name: string
  readonly label: string
  readonly parameters?: Readonly<Record<string, boolean>>
  readonly effects: (request: ConsoleRequest, object: Wire) => Promise<Content>
}

/** Content of a page of an object below its facts. */
export type Sections = {
  readonly content: Content
  readonly tables?: readonly TableView[]
  readonly hasCharts?: boolean
}

/** Values of a filter with their labels. */
export type FilterOptions = readonly (readonly [value: string, label: string])[]

/** Return the request that creates the first object of a kind. */
export const exampleRequest = ({
  operations,
  example,
}: {
  readonly operations: { readonly create: OperationOf<{ readonly id: string }> }
  readonly example: object
}) => callRequest(operations.create, {}, example)

/** Kind of object of the API with its pages: a list, a page for each object, and forms. `Listed`: object in lists. */
export type ObjectKind<Wire extends { readonly id: string }, Listed extends { readonly id: string } = Wire> = {
  /** Path below /console: `/locations`. */
  readonly path: string
  readonly operations: {
    readonly list: OperationOf<ListOf<Listed>>
    readonly retrieve: OperationOf<Wire, '/{id}'>
    readonly create: OperationOf<{ readonly id: string }>
    readonly update: OperationOf<{ readonly id: string }, '/{id}'>
    readonly delete: OperationOf<object, '/{id}'>
  }
  /** Name in lower case: "location". */
  readonly name: string
  readonly title: string
  readonly lead: string
  readonly columns: readonly Column<Listed>[]
  /** The list has a column with the location of each object. */
  readonly locationOf?: (object: Listed) => string
  /** Query parameters of the list with their labels. With options, the filter is a selection. */
  readonly filters: readonly (readonly [name: string, label: string, options?: FilterOptions])[]
  readonly nameOf: (object: Wire) => string
  /** `links`: links to `linkedIds` of the object, by their names. */
  readonly factsOf: (
    object: Wire,
    links: ReadonlyMap<string | null, Content>,
  ) => readonly (readonly [string, Content])[]
  /** Ids of other objects in the facts of an object. */
  readonly linkedIds?: (object: Wire) => readonly (string | null)[]
  /** Links to pages about the object, such as its costs. */
  readonly linksOf?: (object: Wire) => readonly (readonly [label: string, href: string])[]
  /** Links to forms about the object, for users who may change data. */
  readonly formsOf?: (object: Wire) => readonly (readonly [label: string, href: string])[]
  readonly sections?: (request: ConsoleRequest, object: Wire) => Promise<Sections>
  /** Body that creates the first object, for empty lists. */
  readonly example: object
  /** Members of the form that creates an object. Empty: another page creates it. */
  readonly members: readonly FormMember[]
  /** Members of the form for changes. Default: the members that are not fixed. */
  readonly changeMembers?: readonly FormMember[]
  /** Reason why an object cannot be changed; null if it can. */
  readonly lockedBy?: (object: Wire) => Content
  /** Effects of changes, above the form for changes. */
  readonly changeEffects?: (request: ConsoleRequest, object: Wire) => Promise<Content>
  /** Members of an object that the form for changes contains. Absent: the object cannot be changed. */
  readonly editable?: (object: Wire) => Readonly<Record<string, unknown>>
  readonly deletions: readonly Deletion<Wire>[]
  /** The pages ask the API what a change would do. */
  readonly hasDryRun?: boolean
}
