import { icon } from "../icon.ts";

export default icon("M2 12a10 10 0 1 0 20 0a10 10 0 1 0 -20 0ZM10 15L10 9M14 15L14 9");
