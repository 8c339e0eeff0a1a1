import { icon } from "../icon.ts";

export default icon("M5 12h14M12 5l7 7-7 7");
