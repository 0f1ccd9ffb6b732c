/** Return the paths of the Connect flow: `/connect`, and the path that the operator chose. */
export const connectPathsOf = (path: string): readonly string[] => [...new Set(['/connect', path])]
