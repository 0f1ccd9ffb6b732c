/** The members of an object without those that may be undefined. */
type Present<T> = { readonly [Name in keyof T]?: Exclude<T[Name], undefined> }

/** Leave out the members that are undefined, so that what stays is what was given. */
export const present = <T extends Readonly<Record<string, unknown>>>(members: T): Present<T> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Present<T>
